// keyboard.test.ts - how keys are spelled, and that the table of commands is whole
import assert from "node:assert/strict";
import { test } from "node:test";
import type { App, Core } from "../../../src/view/web/src/app";
import { Commands } from "../../../src/view/web/src/tools/commands";
import { addHandCommands, nextFlowMode } from "../../../src/view/web/src/tools/hand_commands";
import { Hands } from "../../../src/view/web/src/tools/hands";
import { ariaKey, keyOf, shownKey, type KeyPress } from "../../../src/view/web/src/tools/keyboard";
import { newState } from "../../../src/view/web/src/state";

const press = (key: string, code: string, mods: Partial<KeyPress> = {}): KeyPress =>
  ({ key, code, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...mods });

function table(): App {
  const core = {
    state: newState(), commands: new Commands(), redraw: () => undefined,
    layout: () => ({ pinned: [], places: [], pinnedHeight: 0, height: 0, find: () => undefined, at: () => undefined }),
  } as unknown as Core;
  const app = Object.assign(core, { hands: new Hands(core, () => ({ width: 1000, height: 500 })) });
  addHandCommands(app);
  return app;
}

test("letters, with Shift, with CapsLock, on other keyboards", () => {
  assert.equal(keyOf(press("w", "KeyW")), "w");
  assert.equal(keyOf(press("W", "KeyW", { shiftKey: true })), "Shift+W");
  assert.equal(keyOf(press("W", "KeyW")), "w", "CapsLock alone");
  assert.equal(keyOf(press("w", "KeyW", { shiftKey: true })), "Shift+W", "CapsLock and Shift");
  assert.equal(keyOf(press("ц", "KeyW")), "w", "a Cyrillic keyboard");
  assert.equal(keyOf(press("∑", "KeyW", { altKey: true })), "Alt+w", "Alt on a Mac makes other characters");
});

test("characters tell of Shift themselves, named keys do not", () => {
  assert.equal(keyOf(press("?", "Slash", { shiftKey: true })), "?");
  assert.equal(keyOf(press("!", "Digit1", { shiftKey: true })), "!");
  assert.equal(keyOf(press("ArrowLeft", "ArrowLeft", { shiftKey: true })), "Shift+ArrowLeft");
  assert.equal(keyOf(press(" ", "Space")), "Space");
  assert.equal(keyOf(press("+", "NumpadAdd")), "+");
});

test("Ctrl and Command are one", () => {
  assert.equal(keyOf(press("k", "KeyK", { ctrlKey: true })), "Ctrl+k");
  assert.equal(keyOf(press("k", "KeyK", { metaKey: true })), "Ctrl+k");
  assert.equal(keyOf(press("P", "KeyP", { ctrlKey: true, shiftKey: true })), "Ctrl+Shift+P");
  assert.equal(keyOf(press("Control", "ControlLeft", { ctrlKey: true })), "Control");
  assert.equal(keyOf(press("ArrowUp", "ArrowUp", { altKey: true })), "Alt+ArrowUp");
});

test("keys as people and as screen readers read them", () => {
  assert.equal(shownKey("Ctrl+Shift+P"), "Ctrl + Shift + P");
  assert.equal(shownKey("ArrowLeft"), "←");
  assert.equal(shownKey("+"), "+");
  assert.equal(ariaKey("Ctrl+k"), "Control+k");
  assert.equal(ariaKey("+"), "Plus");
});

test("every command has a title that starts with a capital and a key that is spelled as it is pressed", () => {
  const { commands } = table();
  assert.ok(commands.all().length > 40);
  for (const { id, title, keys } of commands.all()) {
    assert.match(title, /^[A-Z].{5,}/, id);
    assert.ok((keys ?? []).length > 0, `${id} has no key`);
    for (const key of keys ?? []) {
      const parts = key === "+" ? ["+"] : key.split("+");
      const last = parts[parts.length - 1] ?? "";
      assert.ok(!/^[A-Z]$/.test(last) || parts.includes("Shift"), `${key} of ${id} can never be pressed`);
      assert.ok(!/^[a-z]$/.test(last) || !parts.includes("Shift"), `${key} of ${id} can never be pressed`);
    }
  }
});

test("the keys that people know from other viewers do what they do there", () => {
  const { commands } = table();
  const expected: Record<string, string> = {
    w: "zoom-in", s: "zoom-out", a: "pan-left", d: "pan-right", "Shift+W": "zoom-in-fast", f: "fit", "0": "fit-whole",
    "1": "tool-select", "2": "tool-pan", "3": "tool-zoom", "4": "tool-time", "!": "tool-select", "@": "tool-pan", "#": "tool-zoom",
    $: "tool-time", m: "mark", Enter: "mark", "[": "flow-back", "]": "flow-on", ".": "next-event", ",": "previous-event", "?": "help",
    "Ctrl+k": "palette", "Ctrl+Shift+P": "palette", Escape: "clear", v: "flows-cycle",
  };
  for (const [key, id] of Object.entries(expected)) assert.equal(commands.ofKey(key)?.id, id, key);
});

test("tools and modes change the state", () => {
  const app = table();
  app.commands.run("tool-time");
  assert.equal(app.state.tool.value, "time");
  app.commands.run("colour-by");
  assert.equal(app.state.colorBy.value, "name");
  app.commands.run("axis");
  assert.equal(app.state.axis.value, "absolute");
  app.commands.run("help");
  assert.equal(app.state.dialog.value, "help");
  app.commands.run("theme");
  assert.equal(app.state.theme.value, "light");
  assert.deepEqual(nextFlowMode({ mode: "category", category: "x" }), { mode: "off" });
});

test("Escape lets go of one thing after the other", () => {
  const { state, commands } = table();
  const event = { trace: 0, track: 1, kind: "slice", row: 1, depth: 0, start: 0, duration: 1, name: 1 };
  state.selected.value = [event];
  state.tab.value = "details";
  state.area.value = { from: 0, until: 1, tracks: null };
  state.timing.value = { from: 0, until: 1 };
  const seen: string[] = [];
  for (let k = 0; k < 4; k++) {
    commands.run("clear");
    seen.push([state.timing.value, state.area.value, state.selected.value[0] ?? null, state.tab.value].map((one) => (one === null ? "-" : "x")).join(""));
  }
  assert.deepEqual(seen, ["-xxx", "--xx", "---x", "----"]);
});

test("marking takes the box before the selected event and tells the duration", async () => {
  const { state, hands } = table();
  state.area.value = { from: 1000, until: 4000, tracks: null };
  await hands.actions.mark();
  assert.deepEqual(state.marks.value, [{ id: 1, name: "Mark 1", from: 1000, until: 4000 }]);
  assert.equal(state.message.value?.text, "Mark 1: 3 µs");
  state.timing.value = { from: 5, until: 17 };
  state.tool.value = "time";
  await hands.actions.mark();
  assert.equal(state.marks.value[1]?.until, 17);
});
