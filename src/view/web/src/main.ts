// The web UI: makes the parts and inserts them into index.html.
import "./page.css";
import { computed, effect } from "@preact/signals";
import { attachA11y } from "./tracks/a11y";
import type { App, Core } from "./app";
import { Commands } from "./tools/commands";
import { mountDialogs } from "./dialogs/dialogs";
import { View } from "./draw/view";
import { mountLegend } from "./bar/legend";
import { mountFidelity } from "./bar/fidelity_line";
import { attachClocks } from "./data/clocks";
import { attachFlows } from "./tracks/flows";
import { attachMeetings } from "./tracks/meetings";
import { Follower } from "./data/follow";
import { attachDrop } from "./data/drop";
import { addHandCommands } from "./tools/hand_commands";
import { Hands } from "./tools/hands";
import { attachInput } from "./tools/input";
import { choicesOf, makeLayout } from "./tracks/layout";
import { Names } from "./data/names";
import { save, saveText } from "./panels/clipboard";
import { saveHtml } from "./data/save_html";
import { mountPane } from "./panels/pane";
import { opensStart } from "./panels/start/opening";
import { mountSearchBox } from "./bar/searchbox";
import { HttpSource } from "./data/source_http";
import type { Source } from "./data/source";
import { attachOwnLines } from "./data/own_lines";
import { attachReading } from "./data/reading";
import { attachScale } from "./scale";
import { newState } from "./state";
import { TileCache } from "./data/tiles";
import { attachTheme } from "./bar/theme";
import { attachTimeless } from "./tracks/timeless";
import { mountToolbar } from "./bar/toolbar";
import { mountTrackList } from "./tracks/tracklist";
import { attachUrl } from "./url";

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

const LATEST_MS = 400; // the page is all there then, also where the server does not answer

// One line for users and screen readers; messages about the server's health replace it.
function attachStatus(app: App): void {
  const status = element("status");
  effect(() => {
    const health = app.tiles.health.value;
    const message = app.state.message.value;
    const shown = message?.error ? message : health.state !== "ok" ? { text: health.text, error: health.state === "failing" } : message;
    status.textContent = shown?.text ?? "";
    status.classList.toggle("error", shown?.error ?? false);
  });
}

function start(source: Source): void {
  attachScale();
  const state = newState();
  const layout = computed(() => makeLayout(state.tracks.value, choicesOf(state)));
  let view: View | null = null;
  const redraw = (): void => view?.redraw();
  const changed = (): void => view?.changed();
  const core: Core = {
    source, state, redraw,
    commands: new Commands(),
    names: new Names(source, changed),
    tiles: new TileCache(source, changed),
    layout: () => layout.value,
  };
  const tracks = element("tracks");
  const app: App = Object.assign(core, {
    hands: new Hands(core, () => ({ width: tracks.clientWidth, height: tracks.clientHeight })),
  });
  addHandCommands(app);
  attachDrop(app, element("main"));
  view = new View(app, tracks, element("axis"), element("overview"), () => void setTimeout(mount));
  view.flows = attachFlows(app);
  view.meetings = attachMeetings(app);
  app.commands.add({
    id: "save-picture", title: "Save what is in view as a picture (PNG)", group: "View",
    run: () => shown.asPicture(element("headers").clientWidth)?.toBlob((blob) => { if (blob) save(blob, "heddle-view.png"); }),
  }, {
    id: "save-html", title: "Save the open traces as one HTML file", group: "View", run: () => void saveHtml(app),
  }, {
    id: "save-svg", title: "Save what is in view as a drawing (SVG)", group: "View",
    run: () => {
      const svg = shown.asSvg(element("headers").clientWidth, document.title);
      if (svg) saveText(svg, "image/svg+xml", "heddle-view.svg");
    },
  });
  attachClocks(app);
  attachOwnLines(app);
  attachInput(view.canvas, app);
  attachTheme(app);
  attachReading(app, element("main"));
  attachStatus(app);
  attachTimeless(app);
  attachUrl(app);
  view.follow();
  const shown = view;
  // Parts around the picture are made once that is drawn.
  let [mounted, hasPane] = [false, false];
  const mountTabs = (): void => {
    if (!hasPane) mountPane(element("pane"), app);
    hasPane = true;
  };
  const mount = (): void => {
    if (mounted) return;
    mounted = true;
    mountToolbar(element("toolbar"), app);
    mountSearchBox(element("search"), app);
    mountTrackList(element("headers"), app);
    mountTabs();
    mountLegend(element("legend"), app);
    mountFidelity(element("fidelity"), app);
    mountDialogs(element("dialogs"), app);
    attachA11y(app);
    window.heddle = { app, isDue: () => shown.isDue(), frames: () => shown.frames(), drawList: () => shown.summary() };
  };
  const forget = (): void => {
    app.tiles.clear();
    app.names.clear();
  };
  // Of a job the ranks are the first picture; of traces their summary is open.
  const stop = effect(() => {
    const session = state.session.value;
    if (!session) return;
    if (session.job && session.traces.length === 0 && state.tab.peek() === null) state.tab.value = "job";
    else if (session.diff && state.tab.peek() === null && location.hash.length <= 1) state.tab.value = "diff";
    else if (!session.job && opensStart(state)) state.tab.value = "start";
    if (session.job) setTimeout(mountTabs);
    setTimeout(() => stop());
  });
  void new Follower(app, forget).run();
  setTimeout(mount, LATEST_MS);
}

declare global {
  interface Window {
    heddle?: { app: App; isDue(): boolean; frames(): number[]; drawList(): ReturnType<View["summary"]> };
  }
}

// Not within the script: with tools that record requests (DevTools, tests) all of it would be parsed again for the
// stack.
queueMicrotask(() => start(new HttpSource(window.heddleTransport)));
