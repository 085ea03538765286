// The pane at the bottom: tabs, height, contents.
import "../panels.css";
import { effect, signal } from "@preact/signals";
import { render, type JSX, type TargetedKeyboardEvent, type TargetedPointerEvent } from "preact";
import { useErrorBoundary } from "preact/hooks";
import type { App } from "../app";
import { FidelityPanel } from "./fidelity";
import { DetailsPanel } from "./details";
import { DiffPanel } from "./diff";
import { FlamePanel } from "./flame";
import { JobPanel } from "./job";
import { QueryPanel } from "./query/query";
import { queryCommands } from "./query/query_commands";
import { ReportsPanel } from "./reports";
import { SearchPanel } from "./search";
import { SelectionPanel } from "./selection";
import { rememberStart } from "./start/opening";
import { StartPanel } from "./start/start";
import { scaled } from "../scale";
import type { Tab } from "../state";

const TABS: readonly (readonly [Tab, string])[] = [
  ["start", "Summary"], ["diff", "Changes"], ["details", "Details"], ["selection", "Selection"], ["flame", "Flame"], ["reports", "Reports"], ["query", "Query"], ["job", "Job"], ["search", "Search"], ["fidelity", "Fidelity"],
];

// Changes are there with two sides only.
const tabsOf = (app: App): typeof TABS => TABS.filter(([tab]) => tab !== "diff" || app.state.session.value?.diff);

const LEAST = 90; // px
const STEP = 24;
const KEY = "heddle-pane-height";
const height = signal(remembered());

function remembered(): number {
  try {
    return Number(localStorage.getItem(KEY)) || 260;
  } catch {
    return 260; // no storage here
  }
}

function remember(): void {
  try {
    localStorage.setItem(KEY, String(height.peek()));
  } catch {
    // as above: lost when the tab is closed
  }
}

export function mountPane(el: HTMLElement, app: App): void {
  render(<Pane app={app} />, el);
  attachOpening(app);
  app.commands.add(
    ...TABS.map(([tab, title]) => ({
      id: `tab-${tab}`, title: `Show ${title}`, group: "View" as const, run: () => { app.state.tab.value = tab; },
      enabled: () => tabsOf(app).some(([each]) => each === tab),
    })),
    ...queryCommands(app),
    { id: "close-pane", title: "Close the pane", group: "View", run: () => { app.state.tab.value = null; }, enabled: () => app.state.tab.value !== null },
  );
}

// A new selection chooses the tab, unless the pane shows one that follows the selection anyway. If the user closed the
// pane, clicks do not reopen it; dragging a box does.
function tabAfter(tab: Tab | null, shut: boolean, change: "event" | "area"): Tab | null {
  if ((shut && change === "event") || tab === "flame" || tab === "job" || tab === "diff" || ((tab === "reports" || tab === "query") && change === "area") || (tab === "search" && change === "event")) return tab;
  return change === "event" ? "details" : "selection";
}

const shut = signal(false); // the user closed the pane, and did not open it again

function attachOpening(app: App): void {
  const { state } = app;
  let first = true;
  let selected = state.selected.peek();
  let area = state.area.peek();
  let tab = state.tab.peek();
  effect(() => {
    const now = { selected: state.selected.value, area: state.area.value, tab: state.tab.value };
    if (now.tab !== tab) shut.value = now.tab === null;
    if (!first && now.tab === "start" && tab !== "start") rememberStart(false);
    if (!first && now.tab === null && tab === "start") rememberStart(true);
    if (first) first = false;
    else if (now.area !== area && now.area) state.tab.value = tabAfter(now.tab, shut.peek(), "area");
    else if (now.selected !== selected && now.selected.length) state.tab.value = tabAfter(now.tab, shut.peek(), "event");
    ({ selected, area } = now);
    tab = state.tab.peek();
  });
}

function Pane({ app }: { app: App }): JSX.Element {
  const tab = app.state.tab.value;
  return (
    <div class="pane">
      {tab !== null && <Resizer />}
      <div class="tabs">
        <div role="tablist" aria-label="Pane" onKeyDown={(event) => onTabKey(app, event)}>
          {tabsOf(app).map(([each, title]) => (
            <button key={each} type="button" role="tab" id={`tab-${each}`} aria-selected={tab === each} aria-controls="pane-body"
              tabIndex={tab === each || (tab === null && each === "details") ? 0 : -1}
              onClick={() => { app.state.tab.value = tab === each ? null : each; }}>
              {title}
            </button>
          ))}
        </div>
        {tab !== null && (
          <button type="button" class="icon" title="Close the pane" aria-label="Close the pane" onClick={() => { app.state.tab.value = null; }}>✕</button>
        )}
      </div>
      {tab !== null && (
        <div id="pane-body" class="body" role="tabpanel" aria-labelledby={`tab-${tab}`} style={{ height: `${clampHeight(isAlone(app) ? Infinity : height.value)}px` }}>
          <Guard key={tab}><Panel app={app} tab={tab} /></Guard>
        </div>
      )}
    </div>
  );
}

// A failing panel shows its error, and the rest continues.
function Guard({ children }: { children: JSX.Element }): JSX.Element {
  const [error, reset] = useErrorBoundary();
  if (error === undefined) return children;
  return (
    <p class="hint bad" role="alert">
      <span aria-hidden="true">⚠ </span>This panel failed: {error instanceof Error ? error.message : String(error)}{" "}
      <button type="button" class="small" onClick={reset}>Try again</button>
    </p>
  );
}

function Panel({ app, tab }: { app: App; tab: Tab }): JSX.Element {
  switch (tab) {
    case "start": return <StartPanel app={app} />;
    case "diff": return <DiffPanel app={app} />;
    case "details": return <DetailsPanel app={app} />;
    case "selection": return <SelectionPanel app={app} />;
    case "flame": return <FlamePanel app={app} />;
    case "reports": return <ReportsPanel app={app} />;
    case "query": return <QueryPanel app={app} />;
    case "job": return <JobPanel app={app} />;
    case "search": return <SearchPanel app={app} />;
    case "fidelity": return <FidelityPanel app={app} />;
  }
}

function onTabKey(app: App, event: TargetedKeyboardEvent<HTMLDivElement>): void {
  const way = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (!way) return;
  const tabs = tabsOf(app);
  const at = tabs.findIndex(([tab]) => tab === (app.state.tab.value ?? "details"));
  const next = tabs[(at + way + tabs.length) % tabs.length];
  if (!next) return;
  app.state.tab.value = next[0];
  document.getElementById(`tab-${next[0]}`)?.focus();
  event.preventDefault();
  event.stopPropagation();
}

// Nothing is shown above it.
const isAlone = (app: App): boolean => app.state.tab.value === "job" && app.state.session.value?.traces.length === 0;

function clampHeight(px: number): number {
  return Math.max(LEAST, Math.min(px, Math.max(LEAST, innerHeight - scaled(240))));
}

function Resizer(): JSX.Element {
  const onDown = (down: TargetedPointerEvent<HTMLDivElement>): void => {
    const bar = down.currentTarget;
    const before = clampHeight(height.peek());
    bar.setPointerCapture(down.pointerId);
    const move = (event: PointerEvent): void => { height.value = clampHeight(before + down.clientY - event.clientY); };
    const end = (): void => {
      bar.removeEventListener("pointermove", move);
      bar.removeEventListener("lostpointercapture", end);
      remember();
    };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("lostpointercapture", end);
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const way = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    if (!way) return;
    height.value = clampHeight(clampHeight(height.peek()) + way * STEP);
    remember();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="resizer" role="separator" aria-orientation="horizontal" aria-label="Height of the pane" aria-valuenow={height.value}
      aria-valuemin={LEAST} tabIndex={0} title="Drag, or arrow keys" onPointerDown={onDown} onKeyDown={onKeyDown} />
  );
}
