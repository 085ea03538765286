// The menu of the flows button: which arrows are drawn.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../app";
import { offsetOf } from "./at_pixel";
import { formatCount } from "../format";
import { moveFocus } from "../bar/roving";
import type { FlowMode } from "../state";

interface Category {
  name: string;
  count: number;
}

// Categories of the flows of all traces, those with most first.
async function flowCategories(app: App): Promise<Category[]> {
  const counts = new Map<string, number>();
  const { whole, session } = app.state;
  await Promise.all((session.value?.traces ?? []).filter((trace) => trace.state === "ready").map(async (trace) => {
    const offset = offsetOf(app, trace.id);
    const answer = await app.source.flows(trace.id, { all: true }, Math.floor(whole.value.from - offset), Math.ceil(whole.value.until - offset), null);
    for (const [name, count] of answer.categories) counts.set(name, (counts.get(name) ?? 0) + count);
  }));
  return [...counts].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count);
}

const categories = signal<Category[] | string>([]);

export function FlowMenu({ app, close }: { app: App; close: (refocus: boolean) => void }): JSX.Element {
  const menu = useRef<HTMLDivElement>(null);
  const now = app.state.flows.value;
  useLayoutEffect(() => {
    menu.current?.querySelector<HTMLElement>("[aria-checked=true], button")?.focus();
    flowCategories(app).then(
      (found) => {
        categories.value = found;
      },
      (error: unknown) => {
        categories.value = error instanceof Error ? error.message : String(error);
      });
    const outside = (event: PointerEvent): void => {
      if (event.target instanceof Node && !menu.current?.parentElement?.contains(event.target)) close(false);
    };
    window.addEventListener("pointerdown", outside, true);
    return () => window.removeEventListener("pointerdown", outside, true);
  }, []);
  const item = (mode: FlowMode, text: string, key: string): JSX.Element => {
    const checked = now.mode === mode.mode && (mode.mode !== "category" || (now.mode === "category" && now.category === mode.category));
    return (
      <button type="button" role="menuitemradio" aria-checked={checked} key={key} tabIndex={-1} onClick={() => {
        app.state.flows.value = mode;
        close(true);
      }}>
        <span class="check" aria-hidden="true">{checked ? "✓" : ""}</span>
        {text}
      </button>
    );
  };
  const found = categories.value;
  return (
    <div class="flow-menu" role="menu" aria-label="Flow arrows" ref={menu} onKeyDown={(event) => {
      if (event.key === "Escape" || event.key === "Tab") {
        event.preventDefault();
        event.stopPropagation();
        close(true);
      } else {
        moveFocus(event, menu.current, "button", true);
      }
    }}>
      {item({ mode: "off" }, "None", "off")}
      {item({ mode: "selection" }, "Of the selected event", "selection")}
      {item({ mode: "all" }, "All in view", "all")}
      {typeof found === "string" ? <p class="menu-note">{found}</p> : found.length > 0 && <hr />}
      {typeof found !== "string" && found.slice(0, 30).map(({ name, count }) =>
        item({ mode: "category", category: name }, `${name || "(no category)"}: ${formatCount(count)}`, `category ${name}`))}
    </div>
  );
}
