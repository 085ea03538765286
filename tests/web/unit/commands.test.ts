// commands.test.ts - the table of commands
import assert from "node:assert/strict";
import { test } from "node:test";
import { Commands } from "../../../src/view/web/src/tools/commands";

const command = (id: string, keys: string[], run: () => void = () => undefined) => ({
  id, title: id, group: "View" as const, keys, run,
});

test("a key finds its command, an id finds it, too", () => {
  const commands = new Commands();
  commands.add(command("one", ["a", "Shift+A"]), command("two", ["b"]));
  assert.equal(commands.ofKey("Shift+A")?.id, "one");
  assert.equal(commands.find("two")?.id, "two");
  assert.equal(commands.ofKey("c"), undefined);
  assert.deepEqual(commands.all().map((c) => c.id), ["one", "two"]);
});

test("no two commands share an id or a key", () => {
  const commands = new Commands();
  commands.add(command("one", ["a"]));
  assert.throws(() => commands.add(command("one", ["b"])), /one is there twice/);
  assert.throws(() => commands.add(command("two", ["a"])), /key a is of one and of two/);
});

test("a command that is not enabled does not run", () => {
  const commands = new Commands();
  let enabled = false, runs = 0;
  commands.add({ ...command("one", ["a"], () => runs++), enabled: () => enabled });
  commands.run("one");
  assert.equal(runs, 0);
  enabled = true;
  commands.run("one");
  commands.run("none");
  assert.equal(runs, 1);
});
