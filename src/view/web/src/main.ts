// The page: makes the parts and puts them where index.html has a place for them.
import "./page.css";
import { computed, effect } from "@preact/signals";
import { attachA11y } from "./a11y";
import type { App } from "./app";
import { Commands } from "./commands";
import { mountDialogs } from "./dialogs";
import { View } from "./draw/view";
import { mountFidelity } from "./fidelity";
import { attachFlows } from "./flows";
import { Follower } from "./follow";
import { attachInput } from "./input";
import { makeLayout } from "./layout";
import { Names } from "./names";
import { mountPane } from "./pane";
import { mountSearchBox } from "./searchbox";
import { HttpSource } from "./source_http";
import type { Source } from "./source";
import { newState } from "./state";
import { TileCache } from "./tiles";
import { mountToolbar } from "./toolbar";
import { mountTrackList } from "./tracklist";
import { attachUrl } from "./url";

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

// The colours of the page follow the system unless the user chose.
function attachTheme(app: App): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = (): void => {
    const theme = app.state.theme.value;
    document.documentElement.dataset.theme = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
    app.redraw();
  };
  dark.addEventListener("change", apply);
  effect(apply);
}

// One line for people and screen readers; the server's health takes its place while there is something to say.
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
  const state = newState();
  const layout = computed(() =>
    makeLayout(state.tracks.value, {
      collapsed: state.collapsed.value, hidden: state.hidden.value, pinned: state.pinned.value, moved: state.moved.value,
      trackFilter: state.trackFilter.value,
    }),
  );
  let view: View | null = null;
  const redraw = (): void => view?.redraw();
  const app: App = {
    source, state, redraw,
    commands: new Commands(),
    names: new Names(source, redraw),
    tiles: new TileCache(source, redraw),
    layout: () => layout.value,
  };
  view = new View(app, element("tracks"), element("axis"), element("overview"));
  view.flows = attachFlows(app);
  mountToolbar(element("toolbar"), app);
  mountSearchBox(element("search"), app);
  mountTrackList(element("headers"), app);
  mountPane(element("pane"), app);
  mountFidelity(element("fidelity"), app);
  mountDialogs(element("dialogs"), app);
  attachInput(view.canvas, app);
  attachA11y(app);
  attachTheme(app);
  attachStatus(app);
  attachUrl(app);
  const follower = new Follower(app, () => {
    app.tiles.clear();
    app.names.clear();
  });
  void follower.run();
  view.follow();
  const shown = view;
  window.heddle = { app, frames: () => shown.frames(), drawList: () => shown.summary() };
}

declare global {
  interface Window {
    heddle?: { app: App; frames(): number[]; drawList(): ReturnType<View["summary"]> };
  }
}

start(new HttpSource());
