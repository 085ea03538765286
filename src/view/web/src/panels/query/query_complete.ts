// Completions of the SQL editor at a position: tables after FROM, columns of the tables in a statement, functions,
// keywords. Pure.
import { ranked } from "../../dialogs/fuzzy";
import type { QueryTable } from "../../data/model";
import { KEYWORDS, tokensOf, type Token } from "./query_text";

export interface Offer {
  text: string; // what is put in
  kind: "column" | "table" | "function" | "keyword";
  detail: string;
}

export interface Completion {
  from: number; // start of the word that it replaces
  to: number;
  offers: Offer[];
}

const MOST = 50;
const LEAST = 2; // letters, from which on a list comes by itself

// Functions of SQLite, and Heddle's own, without tables. The text after the bracket is only shown.
export const FUNCTIONS: readonly (readonly [string, string])[] = [
  ["count(", "X or *: how many are not null"], ["sum(", "X"], ["avg(", "X"], ["min(", "X"], ["max(", "X"], ["total(", "X, as a real number"], ["group_concat(", "X, SEPARATOR"],
  ["abs(", "X"], ["round(", "X, DIGITS"], ["coalesce(", "X, Y, …: the first that is not null"], ["ifnull(", "X, Y"], ["nullif(", "X, Y"], ["iif(", "TEST, THEN, ELSE"],
  ["length(", "TEXT"], ["lower(", "TEXT"], ["upper(", "TEXT"], ["substr(", "TEXT, FROM, LENGTH"], ["instr(", "TEXT, PART"], ["replace(", "TEXT, PART, WITH"], ["trim(", "TEXT"],
  ["printf(", "FORMAT, …"], ["typeof(", "X"], ["cast(", "X AS TYPE"], ["hex(", "X"], ["random(", ""], ["sqrt(", "X"], ["pow(", "X, Y"], ["log(", "X"], ["ceil(", "X"], ["floor(", "X"],
  ["json_extract(", "JSON, PATH"], ["row_number(", ") OVER (…)"], ["rank(", ") OVER (…)"], ["dense_rank(", ") OVER (…)"], ["ntile(", "N) OVER (…)"],
  ["lag(", "X, BACK, ELSE) OVER (ORDER BY …)"], ["lead(", "X, ON, ELSE) OVER (ORDER BY …)"], ["first_value(", "X) OVER (…)"], ["last_value(", "X) OVER (…)"],
  ["extract_arg(", "ARG_SET_ID, KEY: an argument of an event"], ["median(", "X"], ["percentile(", "X, 0 to 100"], ["regexp(", "PATTERN, TEXT"], ["short_name(", "NAME: of a kernel"],
  ["kernel_group(", "NAME of a kernel: its group of --groups"],
];

const plain = (text: string): string => text.replace(/^["`[]|["`\]]$/g, "").toLowerCase();
const isName = (token: Token | undefined): token is Token => token !== undefined && (token.kind === "word" || token.kind === "name");
const upper = (token: Token | undefined): string => token?.text.toUpperCase() ?? "";
const quoted = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) && !KEYWORDS.includes(name.toUpperCase()) ? name : `"${name.replace(/"/g, '""')}"`);

// Tables that a statement reads, by the names that they have in it; those of WITH by their own.
function namedIn(tokens: readonly Token[]): Map<string, string> {
  const named = new Map<string, string>();
  let inFrom = false;
  tokens.forEach((token, k) => {
    const word = upper(token);
    if (word === "FROM" || word === "JOIN") inFrom = true;
    else if (token.kind === "keyword" && word !== "AS") inFrom = false;
    if (isName(token) && upper(tokens[k + 1]) === "AS" && tokens[k + 2]?.text === "(") named.set(plain(token.text), "");
    if (!(word === "FROM" || word === "JOIN" || (inFrom && token.text === ","))) return;
    const table = tokens[k + 1];
    if (!isName(table)) return;
    let next = k + 2;
    if (tokens[next]?.text === "(") { // arguments
      for (let depth = 0; next < tokens.length; next++) {
        if (tokens[next].text === "(") depth++;
        if (tokens[next].text === ")" && --depth === 0) break;
      }
      next++;
    }
    if (upper(tokens[next]) === "AS") next++;
    const alias = tokens[next];
    named.set(plain(isName(alias) ? alias.text : table.text), plain(table.text));
  });
  return named;
}

// Whether the name of a table comes next.
function wantsTable(before: readonly Token[]): boolean {
  const last = before[before.length - 1];
  if (upper(last) === "FROM" || upper(last) === "JOIN") return true;
  if (last?.text !== ",") return false;
  for (let k = before.length - 1, depth = 0; k >= 0; k--) {
    if (before[k].text === ")") depth++;
    if (before[k].text === "(" && depth-- === 0) return false;
    if (depth === 0 && before[k].kind === "keyword" && upper(before[k]) !== "AS") return upper(before[k]) === "FROM" || upper(before[k]) === "JOIN";
  }
  return false;
}

const columnOffers = (table: QueryTable): Offer[] =>
  table.columns.map(({ name, type, meaning }) => ({ text: quoted(name), kind: "column", detail: `${type.toLowerCase()} of ${table.name}${meaning && `: ${meaning}`}` }));
const tableOffers = (tables: readonly QueryTable[], own: Iterable<string>): Offer[] => [
  ...[...own].map((name): Offer => ({ text: name, kind: "table", detail: "of WITH" })),
  ...tables.map(({ name, meaning, columns }): Offer => {
    const given = columns.filter(({ argument }) => argument).map((column) => column.name);
    return { text: quoted(name), kind: "table", detail: `${given.length > 0 ? `(${given.join(", ")}) ` : ""}${meaning}` };
  }),
];

function offersAt(before: readonly Token[], named: Map<string, string>, tables: readonly QueryTable[]): Offer[] {
  const tableOf = (name: string): QueryTable | undefined => tables.find((table) => table.name.toLowerCase() === name);
  const own = [...named].filter(([, table]) => table === "").map(([name]) => name);
  if (before[before.length - 1]?.text === ".") {
    const name = plain(before[before.length - 2]?.text ?? "");
    const table = tableOf(named.get(name) ?? name);
    return table ? columnOffers(table) : [];
  }
  if (wantsTable(before)) return tableOffers(tables, own);
  const read = [...new Set(named.values())].flatMap((name) => tableOf(name) ?? []);
  const seen = new Set<string>();
  return [
    ...read.flatMap(columnOffers).filter(({ text }) => !seen.has(text) && seen.add(text)),
    ...FUNCTIONS.map(([text, detail]): Offer => ({ text, kind: "function", detail })),
    ...KEYWORDS.map((text): Offer => ({ text: text.toLowerCase(), kind: "keyword", detail: "" })),
    ...tableOffers(tables, own),
  ];
}

// Null: nothing is to be offered there. `asked`: people asked for it, also where no word was begun.
export function completionAt(sql: string, caret: number, tables: readonly QueryTable[], asked: boolean): Completion | null {
  const all = tokensOf(sql);
  const inside = all.find((token) => token.from < caret && caret <= token.to);
  if (inside && (inside.kind === "comment" || inside.kind === "string" || inside.kind === "number" || inside.kind === "parameter" || inside.kind === "name")) return null;
  const isWord = inside?.kind === "word" || inside?.kind === "keyword";
  const from = isWord ? inside.from : caret;
  const typed = sql.slice(from, caret);
  const behindDot = sql[from - 1] === ".";
  if (!asked && typed.length < LEAST && !behindDot) return null;
  const first = all.filter((token) => token.text === ";" && token.to <= from).pop()?.to ?? 0;
  const last = all.find((token) => token.text === ";" && token.from >= caret)?.from ?? sql.length;
  const tokens = all.filter((token) => token.from >= first && token.to <= last && token.kind !== "space" && token.kind !== "comment");
  const before = tokens.filter((token) => token.to <= from);
  const offers = offersAt(before, namedIn(tokens), tables);
  // A complete word needs no list, nor does one without a completion: fuzzy matches are offered only on request.
  const found = ranked(typed, offers, (offer) => offer.text, MOST).filter(({ match, item }) => asked || match.at[0] === 0 || item.text.toLowerCase().includes(typed.toLowerCase()));
  const rest = found.map(({ item }) => item);
  if (rest.length === 0 || (!asked && rest[0].text.toLowerCase() === typed.toLowerCase())) return null;
  return { from, to: isWord ? inside.to : caret, offers: rest };
}
