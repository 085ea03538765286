// JSON without the losses of JSON.parse: digits of numbers, the order of members, members with equal names.

// A number as it was written.
export class Digits {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
}

export class Members {
  constructor(readonly entries: [string, Json][]) {}
}

export type Json = null | boolean | string | Digits | Json[] | Members;

const MAX_DEPTH = 1000;
const SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\.)*"/y;

class Parser {
  private at = 0;
  constructor(private readonly text: string) {}

  document(): Json {
    const value = this.value(0);
    this.space();
    if (this.at < this.text.length) this.fail();
    return value;
  }

  private fail(): never {
    throw new SyntaxError(`no JSON at character ${this.at}`);
  }

  private space(): void {
    SPACE.lastIndex = this.at;
    SPACE.test(this.text);
    this.at = SPACE.lastIndex;
  }

  // The text that matches here, or nothing.
  private take(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (!found) return null;
    this.at = pattern.lastIndex;
    return found[0];
  }

  private skip(character: string): boolean {
    this.space();
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private value(depth: number): Json {
    if (depth > MAX_DEPTH) this.fail();
    this.space();
    const first = this.text[this.at];
    if (first === "{") return this.object(depth);
    if (first === "[") return this.array(depth);
    if (first === '"') return this.string();
    for (const [word, value] of [["true", true], ["false", false], ["null", null]] as const) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return value;
    }
    return new Digits(this.take(NUMBER) ?? this.fail());
  }

  private string(): string {
    const value: unknown = JSON.parse(this.take(STRING) ?? this.fail());
    return typeof value === "string" ? value : this.fail();
  }

  private array(depth: number): Json[] {
    const values: Json[] = [];
    this.at++;
    if (this.skip("]")) return values;
    do values.push(this.value(depth + 1));
    while (this.skip(","));
    if (!this.skip("]")) this.fail();
    return values;
  }

  private object(depth: number): Members {
    const entries: [string, Json][] = [];
    this.at++;
    if (this.skip("}")) return new Members(entries);
    do {
      this.space();
      const key = this.string();
      if (!this.skip(":")) this.fail();
      entries.push([key, this.value(depth + 1)]);
    } while (this.skip(","));
    if (!this.skip("}")) this.fail();
    return new Members(entries);
  }
}

export function parseDigits(text: string): Json {
  return new Parser(text).document();
}

// The last member of that name, as JSON.parse has it.
export function member(value: Json, name: string): Json | undefined {
  if (!(value instanceof Members)) return undefined;
  let found: Json | undefined;
  for (const [key, each] of value.entries) if (key === name) found = each;
  return found;
}

// JSON.parse, except for the given members of the outermost object, which keep their digits.
export function parseKeeping(text: string, ...names: string[]): unknown {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) return value;
  const there = names.filter((name) => name in value);
  if (there.length === 0) return value;
  const whole = parseDigits(text);
  return { ...value, ...Object.fromEntries(there.map((name) => [name, member(whole, name)])) };
}

// A value from JSON.parse (tests have their own sources) or from parseDigits.
export function toJson(value: unknown): Json {
  if (value === null || value === undefined) return null;
  if (typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint") return new Digits(String(value));
  if (value instanceof Digits || value instanceof Members) return value;
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value === "object") return new Members(Object.entries(value).map(([key, each]) => [key, toJson(each)]));
  return String(value);
}

// As text again: one line, or with an indent.
export function jsonText(value: Json, indent = 0, before = ""): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (value instanceof Digits) return value.text;
  const inner = before + " ".repeat(indent);
  const parts = Array.isArray(value)
    ? value.map((each) => jsonText(each, indent, inner))
    : value.entries.map(([key, each]) => `${JSON.stringify(key)}: ${jsonText(each, indent, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (!parts.length) return open + close;
  if (!indent) return open + parts.join(", ") + close;
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${before}${close}`;
}
