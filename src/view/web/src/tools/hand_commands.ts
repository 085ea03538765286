// The commands for moving, tools, selection, marks and appearance. Titles are shown in help and palette.
import type { App } from "../app";
import type { Command, CommandGroup } from "./commands";
import type { Motion } from "./nav";
import { spanOf } from "./nav";
import { say } from "./select_actions";
import type { ColorBy, FlowMode, Tool } from "../state";

const FAST = 4;
const ZOOM = 3.2; // e-folds per second
const PAN = 1.1; // views per second
const SCROLL = 700; // px per second

interface Held {
  id: string;
  title: string;
  keys: string[];
  fastKeys: string[];
  motion: Partial<Motion>;
}

const HELD: Held[] = [
  { id: "zoom-in", title: "Zoom in at the pointer", keys: ["w", "+", "="], fastKeys: ["Shift+W"], motion: { zoom: ZOOM } },
  { id: "zoom-out", title: "Zoom out at the pointer", keys: ["s", "-"], fastKeys: ["Shift+S"], motion: { zoom: -ZOOM } },
  { id: "pan-left", title: "Move to earlier times", keys: ["a", "ArrowLeft"], fastKeys: ["Shift+A", "Shift+ArrowLeft"], motion: { pan: -PAN } },
  { id: "pan-right", title: "Move to later times", keys: ["d", "ArrowRight"], fastKeys: ["Shift+D", "Shift+ArrowRight"], motion: { pan: PAN } },
  { id: "scroll-up", title: "Scroll the tracks up", keys: ["ArrowUp"], fastKeys: ["Shift+ArrowUp"], motion: { scroll: -SCROLL } },
  { id: "scroll-down", title: "Scroll the tracks down", keys: ["ArrowDown"], fastKeys: ["Shift+ArrowDown"], motion: { scroll: SCROLL } },
];

const TOOLS: { tool: Tool; title: string; keys: string[] }[] = [
  { tool: "select", title: "Selection tool: click an event, drag a box over tracks", keys: ["1", "!"] },
  { tool: "pan", title: "Pan tool: drag to move", keys: ["2", "@"] },
  { tool: "zoom", title: "Zoom tool: drag up or down to zoom, sideways to zoom to a range", keys: ["3", "#"] },
  { tool: "time", title: "Timing tool: drag between edges of events to measure", keys: ["4", "$"] },
];

export function nextFlowMode(mode: FlowMode): FlowMode {
  if (mode.mode === "off") return { mode: "selection" };
  return mode.mode === "selection" ? { mode: "all" } : { mode: "off" };
}

export const flowModeText = (mode: FlowMode): string =>
  mode.mode === "category" ? `flows of ${mode.category}`
    : { off: "no flows", selection: "flows of the selection", all: "all flows in view" }[mode.mode];

function moveCommands(app: App): Command[] {
  const { motions, actions } = app.hands;
  const out: Command[] = [];
  for (const held of HELD) {
    const { scroll = 0, pan = 0, zoom = 0 } = held.motion;
    motions.define(held.id, held.motion);
    motions.define(`${held.id}-fast`, { scroll: scroll * FAST, pan: pan * FAST, zoom: zoom * FAST });
    out.push({ id: held.id, title: held.title, group: "Move", keys: held.keys, held: true, run: () => motions.nudge(held.id) });
    out.push({ id: `${held.id}-fast`, title: `${held.title}, four times as fast`, group: "Move", keys: held.fastKeys, held: true,
      run: () => motions.nudge(`${held.id}-fast`) });
  }
  const page = (): number => app.hands.size().height - app.layout().pinnedHeight - 40;
  const edge = (end: boolean): void => {
    const { whole } = app.state;
    const span = spanOf(motions.target());
    motions.go(end ? { from: whole.value.until - span, until: whole.value.until } : { from: whole.value.from, until: whole.value.from + span });
  };
  out.push(
    command("fit", "Fit what is selected into the view", "Move", ["f"], () => actions.fit()),
    command("fit-whole", "Show the whole trace", "Move", ["0"], () => actions.fitWhole()),
    command("page-up", "Scroll the tracks up by a page", "Move", ["PageUp"], () => motions.scrollBy(-page())),
    command("page-down", "Scroll the tracks down by a page", "Move", ["PageDown"], () => motions.scrollBy(page())),
    command("to-start", "Move to the start of the trace", "Move", ["Home"], () => edge(false)),
    command("to-end", "Move to the end of the trace", "Move", ["End"], () => edge(true)),
  );
  return out;
}

function toolCommands(app: App): Command[] {
  return TOOLS.map(({ tool, title, keys }) =>
    command(`tool-${tool}`, title, "Tools", keys, () => {
      app.state.tool.value = tool;
    }));
}

function selectCommands(app: App): Command[] {
  const { actions } = app.hands;
  return [
    command("next-event", "Next event of the row", "Select", ["."], (key) => void actions.step(true, key)),
    command("previous-event", "Previous event of the row", "Select", [","], (key) => void actions.step(false, key)),
    command("event-below", "Event inside the selected one, a row below", "Select", [">"], (key) => void actions.moveDepth(true, key)),
    command("event-above", "Event around the selected one, a row above", "Select", ["<"], (key) => void actions.moveDepth(false, key)),
    command("first-event", "First event of the row", "Select", ["Shift+Home"], () => void actions.ends(false)),
    command("last-event", "Last event of the row", "Select", ["Shift+End"], () => void actions.ends(true)),
    command("clear", "Let go: timing, box, selection, pane, one after the other", "Select", ["Escape"], () => actions.clear()),
    command("flow-back", "Follow a flow back to its source; again: the next flow, if there are several", "Flows", ["["], (key) => void actions.follow("in", key)),
    command("flow-on", "Follow a flow to its target; again: the next flow, if there are several", "Flows", ["]"], (key) => void actions.follow("out", key)),
    command("flows-cycle", "Flow arrows: of the selection, all in view, none", "Flows", ["v"], () => {
      app.state.flows.value = nextFlowMode(app.state.flows.value);
      say(app, flowModeText(app.state.flows.value));
    }),
  ];
}

function markCommands(app: App): Command[] {
  const { actions } = app.hands;
  return [
    command("mark", "Mark what is selected or measured, and show its duration", "Marks", ["m", "Enter"], () => void actions.mark()),
    command("marks", "List of marks: rename, remove, go to", "Marks", ["Shift+M"], () => {
      app.state.dialog.value = "marks";
    }),
    command("next-mark", "Go to the next mark", "Marks", ["b"], () => actions.goToMark(true)),
    command("previous-mark", "Go to the previous mark", "Marks", ["Shift+B"], () => actions.goToMark(false)),
  ];
}

const THEMES = ["auto", "light", "dark"] as const;

function viewCommands(app: App): Command[] {
  const { state } = app;
  return [
    command("colour-by", "Colour by class, by name or by category", "View", ["Shift+C"], () => {
      const ways: ColorBy[] = ["class", "name", "category", ...(state.changes.value.size > 0 ? (["change"] as const) : [])];
      state.colorBy.value = ways[(ways.indexOf(state.colorBy.value) + 1) % ways.length] ?? "class";
      say(app, `Coloured by ${state.colorBy.value}`);
    }),
    command("axis", "Time axis relative to the start or absolute", "View", ["x"], () => {
      state.axis.value = state.axis.value === "relative" ? "absolute" : "relative";
      say(app, state.axis.value === "relative" ? "Times from the start of the trace" : "Absolute times");
    }),
    command("clocks", "Ranks aligned by their clocks, or as their files have them", "View", ["c"], () => {
      state.aligned.value = !state.aligned.value;
      say(app, state.aligned.value ? "Ranks are aligned by their clocks" : "Times are as the files have them");
    }),
    command("theme", "Theme: as the system has it, light, dark", "View", ["Shift+T"], () => {
      state.theme.value = THEMES[(THEMES.indexOf(state.theme.value) + 1) % THEMES.length] ?? "auto";
      say(app, `Theme: ${state.theme.value}`);
    }),
    command("help", "Help: every key", "View", ["?"], () => {
      state.dialog.value = "help";
    }),
    command("palette", "Command palette", "View", ["Ctrl+k", "Ctrl+Shift+P"], () => {
      state.dialog.value = "palette";
    }),
  ];
}

function command(id: string, title: string, group: CommandGroup, keys: string[], run: Command["run"]): Command {
  return { id, title, group, keys, run };
}

export function addHandCommands(app: App): void {
  app.commands.add(
    ...moveCommands(app), ...toolCommands(app), ...selectCommands(app), ...markCommands(app), ...viewCommands(app),
  );
}
