// JSON of any shape as a tree that opens and closes.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount, plural } from "../format";
import { Digits, Members, jsonText, type Json } from "../data/json_digits";
import { LongText } from "./parts";

const PAGE = 100; // members shown at once
const SHORT = 60; // characters: shorter lists are on one line

function Leaf({ value }: { value: Json }): JSX.Element {
  if (typeof value === "string") return <span class="json-string"><LongText text={value} quoted /></span>;
  if (value instanceof Digits) return <span class="json-number" title={grouped(value.text)}>{value.text}</span>;
  return <span class="json-word">{jsonText(value)}</span>;
}

function grouped(text: string): string {
  return /^-?\d{5,}$/.test(text) ? formatCount(BigInt(text)) : text;
}

function childrenOf(value: Json): [string, Json][] | null {
  if (value instanceof Members) return value.entries;
  if (Array.isArray(value)) return value.map((each, at) => [String(at), each]);
  return null;
}

// A list of plain values that fits on a line, as shapes of tensors are.
function asLine(value: Json): string | null {
  if (!Array.isArray(value) || value.length > SHORT) return null;
  const text = jsonText(value);
  return text.length <= SHORT && !/\{/.test(text) ? text : null;
}

function JsonTree({ name, value, open, depth = 0 }: { name: string; value: Json; open: boolean; depth?: number }): JSX.Element {
  const [shown, setShown] = useState(open);
  const [limit, setLimit] = useState(PAGE);
  const below = childrenOf(value);
  const line = below && (below.length ? asLine(value) : jsonText(value));
  if (!below || line !== null) {
    return (
      <li class="json">
        <span class="key"><bdi>{name}</bdi>: </span>
        {line !== null ? <span class="json-number">{line}</span> : <Leaf value={value} />}
      </li>
    );
  }
  const what = Array.isArray(value) ? plural(below.length, "value") : plural(below.length, "member");
  return (
    <li class="json">
      <button type="button" class="fold" aria-expanded={shown} onClick={() => setShown(!shown)}>
        <span aria-hidden="true">{shown ? "▾" : "▸"}</span> <bdi class="key">{name}</bdi> <span class="dim">{what}</span>
      </button>
      {shown && <JsonMembers entries={below} limit={limit} depth={depth} more={() => setLimit(limit + 10 * PAGE)} />}
    </li>
  );
}

function JsonMembers(props: { entries: [string, Json][]; limit: number; depth: number; more: () => void }): JSX.Element {
  const { entries, limit, depth, more } = props;
  return (
    <ul class="json">
      {entries.slice(0, limit).map(([key, each], at) => (
        <JsonTree key={at} name={key} value={each} open={depth < 1 && entries.length <= 20} depth={depth + 1} />
      ))}
      {entries.length > limit && (
        <li><button type="button" class="small" onClick={more}>{plural(entries.length - limit, "more value")} …</button></li>
      )}
    </ul>
  );
}

// The members of arguments without a node above them.
export function JsonArgs({ value }: { value: Json }): JSX.Element {
  const [limit, setLimit] = useState(PAGE);
  const entries = childrenOf(value);
  if (!entries) return <Leaf value={value} />;
  return <JsonMembers entries={entries} limit={limit} depth={0} more={() => setLimit(limit + 10 * PAGE)} />;
}
