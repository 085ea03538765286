// The colours follow the system unless the user chose; the browser stores the choice.
import { effect, signal } from "@preact/signals";
import type { App } from "../app";
import { CLASSES, classTone, css, type Class } from "../draw/color";
import type { State } from "../state";

const KEY = "heddle-theme";
type Theme = State["theme"]["value"];

export const parseTheme = (text: string | null): Theme => (text === "light" || text === "dark" ? text : "auto");
export const shownTheme = (theme: Theme, systemIsDark: boolean): "light" | "dark" =>
  theme === "auto" ? (systemIsDark ? "dark" : "light") : theme;

export const drawnTheme = signal<"light" | "dark">("light");

// Storage may be forbidden or full: the web UI works without.
function load(): Theme {
  try {
    return parseTheme(localStorage.getItem(KEY));
  } catch {
    return "auto";
  }
}

function keep(theme: Theme): void {
  try {
    if (theme === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // It is valid until the tab is closed.
  }
}

export function attachTheme(app: App): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  app.state.theme.value = load();
  const apply = (): void => {
    const isDark = shownTheme(app.state.theme.value, dark.matches) === "dark";
    for (const each of Object.keys(CLASSES) as Class[]) document.documentElement.style.setProperty(`--${each}`, css(classTone(each, isDark)));
    document.documentElement.dataset.theme = drawnTheme.value = shownTheme(app.state.theme.value, dark.matches);
    app.redraw();
  };
  dark.addEventListener("change", apply);
  effect(() => {
    keep(app.state.theme.value);
    apply();
  });
  // Another tab of this page chose.
  window.addEventListener("storage", (event) => {
    if (event.key === KEY) app.state.theme.value = parseTheme(event.newValue);
  });
}
