// SQL in the editor: tokens, statements, which of them runs, and the position of errors. Pure.

export type TokenKind = "word" | "keyword" | "number" | "string" | "name" | "comment" | "parameter" | "mark" | "space";

export interface Token {
  kind: TokenKind;
  from: number;
  to: number;
  text: string;
}

export const KEYWORDS: readonly string[] = (
  "ALL AND AS ASC BETWEEN BY CASE CAST COLLATE CREATE CROSS CURRENT DESC DISTINCT ELSE END ESCAPE EXCEPT EXISTS FALSE FILTER FIRST FOLLOWING FROM FULL " +
  "GLOB GROUP HAVING IN INDEXED INNER INTERSECT IS ISNULL JOIN LAST LEFT LIKE LIMIT MATERIALIZED NATURAL NOT NOTNULL NULL NULLS OFFSET ON OR ORDER " +
  "OUTER OVER PARTITION PRECEDING RANGE RECURSIVE REGEXP RIGHT ROWS SELECT THEN TRUE UNBOUNDED UNION USING VALUES VIEW WHEN WHERE WINDOW WITH"
).split(" ");
const IS_KEYWORD = new Set(KEYWORDS);

const NUMBER = /^[0-9.]/;
const TOKEN = new RegExp([
  "\\s+", "--[^\\n]*", "/\\*[^]*?(?:\\*/|$)", "'(?:[^']|'')*'?", '"(?:[^"]|"")*"?', "`[^`]*`?", "\\[[^\\]]*\\]?", "[:@$][A-Za-z_]\\w*", "\\?\\d*",
  "0x[0-9a-f]+", "\\d+(?:\\.\\d*)?(?:e[+-]?\\d+)?", "\\.\\d+(?:e[+-]?\\d+)?", "[A-Za-z_\\u0080-\\uffff][\\w$\\u0080-\\uffff]*", "[^]",
].join("|"), "giy");

function kindOf(text: string): TokenKind {
  const first = text[0];
  if (/\s/.test(first)) return "space";
  if (text.startsWith("--") || text.startsWith("/*")) return "comment";
  if (first === "'") return "string";
  if (first === '"' || first === "`" || (first === "[" && text.length > 1)) return "name";
  if (/^[:@$]./.test(text) || first === "?") return "parameter";
  if (NUMBER.test(text) && text !== ".") return "number";
  if (/^[A-Za-z_\u0080-\uffff]/.test(first)) return IS_KEYWORD.has(text.toUpperCase()) ? "keyword" : "word";
  return "mark";
}

export function tokensOf(sql: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(sql); found && found[0] !== ""; found = TOKEN.exec(sql)) {
    tokens.push({ kind: kindOf(found[0]), from: found.index, to: found.index + found[0].length, text: found[0] });
  }
  return tokens;
}

// ---- statements ----

interface Statement {
  from: number;
  to: number; // with its semicolon
  first: string; // its first word; "": there is none
}

function statementsOf(sql: string): Statement[] {
  const out: Statement[] = [];
  let from = 0;
  let first = "";
  for (const token of tokensOf(sql)) {
    if (!first && token.kind !== "space" && token.kind !== "comment" && token.text !== ";") first = token.text.toLowerCase();
    if (token.text !== ";") continue;
    if (first) out.push({ from, to: token.to, first });
    from = token.to;
    first = "";
  }
  if (first) out.push({ from, to: sql.length, first });
  return out;
}

// Statements that make objects read by later ones.
const isSetup = (statement: Statement): boolean => ["create", "drop", "include"].includes(statement.first);

export interface Runnable {
  sent: string; // as long as the text, with blanks for parts that do not run: positions are those of the text
  kept: string; // the running part alone
}

// The marked text, else the statement at the caret with the views made before it.
export function runnable(sql: string, from: number, to: number): Runnable {
  const parts: { from: number; to: number }[] = [];
  if (from < to && sql.slice(from, to).trim() !== "") {
    parts.push({ from, to });
  } else {
    const all = statementsOf(sql);
    const found = all.findIndex((statement) => from <= statement.to);
    const at = found < 0 ? all.length - 1 : found;
    all.forEach((statement, k) => { if (k === at || (k < at && isSetup(statement))) parts.push(statement); });
  }
  let sent = "";
  const blank = (text: string): string => text.replace(/[^\n]/g, " ");
  for (const part of parts) sent += blank(sql.slice(sent.length, part.from)) + sql.slice(part.from, part.to);
  return { sent, kept: parts.map((part) => sql.slice(part.from, part.to).trim()).join("\n") };
}

export function parametersOf(sql: string): Set<string> {
  return new Set(tokensOf(sql).filter((token) => token.kind === "parameter").map((token) => token.text.slice(1)));
}

// ---- places ----

// The server counts bytes of UTF-8.
export function indexOfByte(text: string, byte: number): number {
  let bytes = 0;
  let index = 0;
  for (const character of text) {
    if (bytes >= byte) break;
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    index += character.length;
  }
  return index;
}

export function lineAndColumn(text: string, index: number): { line: number; column: number } {
  const before = text.slice(0, index).split("\n");
  return { line: before.length, column: [...(before[before.length - 1] ?? "")].length + 1 };
}

// The token that an error is about; at the end, or between tokens, the one before.
export function wordAt(text: string, index: number): { from: number; to: number } | null {
  const tokens = tokensOf(text).filter((token) => token.kind !== "space" && token.kind !== "comment");
  return tokens.find((token) => token.to > index) ?? tokens[tokens.length - 1] ?? null;
}
