// The legend of the bars' colours, a line below the tracks: of classes, or of what changed; names have too many.
import { render, type JSX } from "preact";
import type { App } from "../app";
import { changeTone, CLASSES, css, themeOf, type Class } from "../draw/color";
import { drawnTheme } from "./theme";

const MEANING: Record<Class, [string, string]> = {
  compute: ["Compute", "Kernels and memsets, without those of communication"],
  communication: ["Communication", "Kernels of collectives, and sends and receives"],
  copy: ["Copy", "Memory copies of a device"],
  wait: ["Wait", "Calls that return when a device, a stream or an event is done, and waits on a stream"],
  memory: ["Memory", "Calls that allocate, free or pin memory"],
  idle: ["Idle", "Nothing runs on the device; its tint is that of what it waits for: the host's operators, a waiting call, a launch, an event, a copy"],
  launch: ["Launch", "Other calls of the runtime and the driver"],
  operator: ["Operator", "Operators of a framework, on the host"],
  python: ["Python", "Functions of Python"],
  range: ["Step, range", "Steps, annotations and name scopes"],
  other: ["Other", "All else"],
};

function Legend({ app }: { app: App }): JSX.Element | null {
  const by = app.state.colorBy.value;
  const theme = themeOf(drawnTheme.value === "dark");
  const groups = [...app.names.groups.value].sort().map(([group, colour]) => [group, "Kernels of this group: its colour in the file of --groups", colour] as const);
  const entries = by === "class" ? [...(Object.keys(CLASSES) as Class[]).map((each) => [...MEANING[each], `var(--${each})`] as const), ...groups]
    : by === "change" ? [["Slower or new", "Than in the side before", css(changeTone("slower", theme))], ["Faster or gone", "Likewise", css(changeTone("faster", theme))], ["Unchanged", "Within noise", css(changeTone(undefined, theme))]] as const
      : [];
  if (entries.length === 0 || app.state.tracks.value.length === 0) return null;
  return (
    <ul class="legend" aria-label="Colours of bars">
      {entries.map(([title, meaning, color]) => <li key={title} title={meaning}><span class="swatch" aria-hidden="true" style={{ background: color }} />{title}</li>)}
    </ul>
  );
}

export function mountLegend(element: HTMLElement, app: App): void {
  render(<Legend app={app} />, element);
}
