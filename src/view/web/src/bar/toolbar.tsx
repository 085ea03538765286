// The toolbar: tools in XProf's order, then flows, colours, axis, theme, marks, palette and help. The action and keys
// of a button come from the table of commands.
import { signal } from "@preact/signals";
import { render, type JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { App } from "../app";
import { FlowMenu } from "../tracks/flow_menu";
import "../hands.css";
import { flowModeText } from "../tools/hand_commands";
import { icons, type IconName } from "./icons";
import { ariaKey, shownKey } from "../tools/keyboard";
import { moveFocus } from "./roving";

interface ButtonProps {
  app: App;
  id: string; // of the command
  icon: IconName;
  label: string;
  pressed?: boolean;
  text?: string; // next to the icon
}

function titleOf(app: App, id: string): { title: string; keys: string[] } {
  const command = app.commands.find(id);
  const keys = command?.keys ?? [];
  const shown = keys.map(shownKey).join(", ");
  return { title: shown ? `${command?.title ?? id} (${shown})` : (command?.title ?? id), keys };
}

function Button({ app, id, icon, label, pressed, text }: ButtonProps): JSX.Element {
  const { title, keys } = titleOf(app, id);
  return (
    <button type="button" class="tool" data-command={id} title={title} aria-label={label}
      aria-keyshortcuts={keys.map(ariaKey).join(" ") || undefined} aria-pressed={pressed} onClick={() => app.commands.run(id)}>
      {icons[icon]}
      {text !== undefined && <span class="tool-text">{text}</span>}
    </button>
  );
}

const menuOpen = signal(false);

function FlowButton({ app }: { app: App }): JSX.Element {
  const mode = app.state.flows.value;
  const text = flowModeText(mode);
  const button = useRef<HTMLButtonElement>(null);
  return (
    <span class="menu-anchor">
      <button type="button" class="tool" ref={button} aria-haspopup="menu" aria-expanded={menuOpen.value} data-command="flows"
        title={`Flow arrows: ${text} (V goes through the modes)`} aria-label={`Flow arrows: ${text}`} aria-keyshortcuts="v"
        onClick={() => {
          menuOpen.value = !menuOpen.value;
        }}>
        {icons.flows}
        <span class="tool-text">Flows</span>
        {icons.down}
      </button>
      {menuOpen.value && (
        <FlowMenu app={app} close={(refocus) => {
          menuOpen.value = false;
          if (refocus) button.current?.focus();
        }} />
      )}
    </span>
  );
}

// "step.json.gz", "8 traces, ranks 0–7".
export function namesOf(traces: readonly { name: string; rank: number | null }[]): string {
  const [first] = traces;
  if (!first) return "";
  const ranks = traces.flatMap(({ rank }) => (rank === null || rank === undefined ? [] : [rank])).sort((a, b) => a - b);
  const known = ranks.length === traces.length;
  if (traces.length === 1) return known ? `rank ${ranks[0]}: ${first.name}` : first.name;
  const adjacent = known && ranks.every((rank, at) => rank === (ranks[0] as number) + at);
  return `${traces.length} traces${adjacent ? `, ranks ${ranks[0]}–${ranks[ranks.length - 1]}` : ""}`;
}

function TraceNames({ app }: { app: App }): JSX.Element | null {
  const traces = app.state.session.value?.traces ?? [];
  const text = namesOf(traces);
  useEffect(() => { document.title = text ? `${text} – Heddle` : "Heddle"; }, [text]);
  return text ? <strong class="tracenames" title={traces.slice(0, 40).map(({ name }) => name).join("\n")}><bdi>{text}</bdi></strong> : null;
}

function Toolbar({ app }: { app: App }): JSX.Element {
  const { state } = app;
  const tool = state.tool.value;
  const bar = useRef<HTMLDivElement>(null);
  // One stop of the Tab key, arrows from there.
  useEffect(() => {
    const buttons = [...(bar.current?.querySelectorAll<HTMLButtonElement>("button.tool") ?? [])];
    if (!buttons.some((button) => button.tabIndex === 0 && button.dataset.stop)) {
      buttons.forEach((button, at) => {
        button.tabIndex = at === 0 ? 0 : -1;
        if (at === 0) button.dataset.stop = "1";
      });
    }
  });
  const marks = state.marks.value.length;
  return (
    <div class="toolbar" role="toolbar" aria-label="Tools" ref={bar} onKeyDown={(event) => moveFocus(event, bar.current, "button.tool")}
      onFocusIn={(event) => {
        for (const button of bar.current?.querySelectorAll<HTMLButtonElement>("button.tool") ?? []) {
          button.tabIndex = button === event.target ? 0 : -1;
        }
      }}>
      <Button app={app} id="open-file" icon="open" label="Open a file" text="Open…" />
      <TraceNames app={app} />
      <span class="tool-group">
        <Button app={app} id="tool-select" icon="select" label="Selection tool" pressed={tool === "select"} />
        <Button app={app} id="tool-pan" icon="pan" label="Pan tool" pressed={tool === "pan"} />
        <Button app={app} id="tool-zoom" icon="zoom" label="Zoom tool" pressed={tool === "zoom"} />
        <Button app={app} id="tool-time" icon="time" label="Timing tool" pressed={tool === "time"} />
      </span>
      <FlowButton app={app} />
      <Button app={app} id="colour-by" icon="colour" label={`Coloured by ${state.colorBy.value}`} text={`Colour: ${state.colorBy.value}`} />
      <Button app={app} id="axis" icon="axis" label={`Times: ${state.axis.value === "relative" ? "from the start" : "absolute"}`} />
      <Button app={app} id="marks" icon="marks" label={marks === 1 ? "1 mark" : `${marks} marks`} text={marks > 0 ? String(marks) : undefined} />
      <Button app={app} id="theme" icon="theme" label={`Theme: ${state.theme.value}`} />
      <Button app={app} id="palette" icon="palette" label="Command palette" />
      <Button app={app} id="help" icon="help" label="Help: every key" />
    </div>
  );
}

export function mountToolbar(element: HTMLElement, app: App): void {
  render(<Toolbar app={app} />, element);
}
