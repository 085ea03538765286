// Keys to commands. Held keys (Command.held) move the view a little with every frame, see motion.ts.
import type { App } from "../app";

// The used members of a KeyboardEvent, so that node can test this.
export interface KeyPress {
  key: string;
  code: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

const NAMED: Record<string, string> = { " ": "Space", Esc: "Escape", Spacebar: "Space" };

// The Latin letter of a key on another keyboard layout, or with Alt.
function latin(press: KeyPress): string | null {
  const match = /^(?:Key([A-Z])|Digit([0-9]))$/.exec(press.code);
  if (!match) return null;
  return match[1] ? match[1].toLowerCase() : (match[2] ?? null);
}

// "w", "Shift+W", "Ctrl+k", "Ctrl+Shift+P", "ArrowLeft", "Alt+ArrowUp", "?": ⌘ counts as Ctrl; Shift is named only if
// the character does not imply it.
export function keyOf(press: KeyPress): string {
  let key = NAMED[press.key] ?? press.key;
  if (key.length === 1) {
    if (press.altKey || key.charCodeAt(0) > 0x7e) key = latin(press) ?? key;
    const lower = key.toLowerCase();
    const upper = key.toUpperCase();
    // A letter is upper case with Shift alone, regardless of CapsLock.
    if (lower !== upper) key = press.shiftKey ? `Shift+${upper}` : lower;
  } else if (press.shiftKey && key !== "Shift") {
    key = `Shift+${key}`;
  }
  if (press.altKey && key !== "Alt") key = `Alt+${key}`;
  if ((press.ctrlKey || press.metaKey) && key !== "Control" && key !== "Meta") key = `Ctrl+${key}`;
  return key;
}

// "Ctrl+Shift+P" as aria-keyshortcuts wants it.
export function ariaKey(key: string): string {
  const parts = key === "+" ? ["Plus"] : key.split("+");
  return parts.map((part) => (part === "Ctrl" ? "Control" : part)).join("+");
}

// As people read it.
const SHOWN: Record<string, string> = {
  ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc", Space: "Space", PageUp: "PgUp",
  PageDown: "PgDn",
};
export function shownKey(key: string): string {
  if (key === "+") return key;
  return key.split("+").map((part) => SHOWN[part] ?? (part.length === 1 ? part.toUpperCase() : part)).join(" + ");
}

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  if (target instanceof HTMLInputElement) return !/^(button|checkbox|radio|range|submit|reset|color|file)$/.test(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

// Keys with which the focused control itself is worked; a command of the same key waits until it is not focused.
const CONTROL_KEYS = /^(Shift\+)?(Enter|Space|Tab|Arrow\w+|Home|End|PageUp|PageDown)$/;
function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement
    && target.closest("button, a[href], summary, select, [role=menu], [role=tab], [role=slider], [role=listbox]") !== null;
}

// In a text field only non-editing keys: with Ctrl, and not the field's own.
const FIELD_OWN = /^Ctrl\+(Shift\+)?([acvxzyACVXZY]|Arrow\w+|Home|End|Backspace|Delete)$/;
const worksInField = (key: string): boolean => key.startsWith("Ctrl+") && !FIELD_OWN.test(key);

// Returns a function that removes it.
export function attachKeyboard(app: App): () => void {
  const down = new Map<string, string>(); // code of the physical key → command that it holds

  const onDown = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing) return;
    const key = keyOf(event);
    if (app.state.dialog.value !== null) return; // the dialog has the keys
    if (isField(event.target) && !worksInField(key)) {
      if (key === "Escape" && event.target instanceof HTMLElement) event.target.blur();
      return;
    }
    if (isControl(event.target) && CONTROL_KEYS.test(key)) return;
    if (key === "Space") { // no command: it is of use with the pointer only
      event.preventDefault();
      app.hands.panHeld.value = true;
      return;
    }
    const command = app.commands.ofKey(key);
    if (!command || !(command.enabled?.() ?? true)) return;
    event.preventDefault();
    if (command.held) {
      if (!event.repeat) {
        down.set(event.code, command.id);
        app.hands.motions.hold(command.id, event.timeStamp);
      }
      return;
    }
    command.run(event);
  };

  const onUp = (event: KeyboardEvent): void => {
    const id = down.get(event.code);
    if (id !== undefined) {
      down.delete(event.code);
      app.hands.motions.release(id, event.timeStamp);
    }
    if (event.code === "Space") app.hands.panHeld.value = false;
    // Releasing Shift turns a fast key into a slow one: the held command stops, since its name has changed.
    if (event.key === "Shift" || event.key === "Meta") releaseAll();
  };

  const releaseAll = (): void => {
    for (const id of down.values()) app.hands.motions.release(id);
    down.clear();
    app.hands.panHeld.value = false;
  };

  window.addEventListener("keydown", onDown);
  window.addEventListener("keyup", onUp);
  window.addEventListener("blur", releaseAll);
  return () => {
    releaseAll();
    window.removeEventListener("keydown", onDown);
    window.removeEventListener("keyup", onUp);
    window.removeEventListener("blur", releaseAll);
  };
}
