// The query of the panel: its text, the current run, the result. All of it stays while another panel is shown.
import { signal } from "@preact/signals";
import type { App } from "../../app";
import type { QueryResult } from "../../data/model";
import { isAbort, messageOf } from "../../data/request";
import { offsetOf } from "../../tools/navigate";
import { say } from "../../tools/select_actions";
import { indexOfByte, parametersOf, runnable, type Runnable } from "./query_text";
import { currentScope } from "../scope_bar";

export interface Failure {
  text: string; // of the editor when it was run
  message: string;
  index: number | null; // the place in the text
}

export interface Answer {
  asked: Runnable;
  params: Record<string, string>;
  result: QueryResult;
}

export const draft = signal("");
export const answer = signal<Answer | null>(null);
export const failure = signal<Failure | null>(null);
export const since = signal<number | null>(null); // start of the current run; null: none
export const caret = { from: 0, to: 0 }; // of the editor

let going: AbortController | null = null;
let asked = ""; // value of state.sql set here

// :from and :until, on the clock of SQL.
function paramsOf(app: App, sql: string): Record<string, string> {
  const wanted = parametersOf(sql);
  const trace = app.state.session.value?.traces.find(({ state }) => state === "ready");
  if (!trace?.start_ns || !(wanted.has("from") || wanted.has("until"))) return {};
  const scope = currentScope(app);
  const absolute = (time: number): string => String(BigInt(trace.start_ns) + BigInt(trace.sql_shift_ns ?? 0) + BigInt(Math.round(time - offsetOf(app, trace.id))));
  return { from: absolute(scope.from), until: absolute(scope.until) };
}

function end(): void {
  going?.abort();
  going = null;
  since.value = null;
}

// An engine in the page has to end with the query, and another one opens the traces before it answers.
export async function cancelQuery(app: App): Promise<void> {
  const done = "The query was cancelled.";
  end();
  say(app, app.source.isLocal ? `${done} The traces are opened again …` : done);
  if (!app.source.isLocal) return;
  await app.source.reports().catch(() => undefined);
  say(app, done);
}

async function ask(app: App, text: string, wanted: Runnable, signal: AbortSignal): Promise<void> {
  const params = paramsOf(app, wanted.sent);
  const found = await app.source.query(wanted.sent, params, signal);
  if (signal.aborted) return;
  if ("error" in found) {
    const { message, offset } = found.error;
    failure.value = { text, message, index: offset === null ? null : indexOfByte(wanted.sent, offset) };
    return;
  }
  failure.value = null;
  answer.value = { asked: wanted, params, result: found };
  remember(wanted.kept);
}

// Runs the marked text, else the statement at the caret. Another current run is aborted.
export async function runQuery(app: App): Promise<void> {
  const text = draft.value;
  const wanted = runnable(text, caret.from, caret.to);
  if (wanted.kept === "") return;
  end();
  const abort = new AbortController();
  going = abort;
  since.value = performance.now();
  asked = wanted.kept;
  app.state.sql.value = wanted.kept;
  try {
    await ask(app, text, wanted, abort.signal);
  } catch (error) {
    if (!isAbort(error) && going === abort) failure.value = { text, message: messageOf(error), index: null };
  }
  if (going === abort) end();
}

// The address has another query: it is put into the editor, and run.
export function follow(app: App): void {
  const { sql } = app.state;
  if (sql.value === asked) return;
  asked = sql.value;
  if (sql.value === "") return;
  put(sql.value);
  void runQuery(app);
}

export function put(text: string): void {
  draft.value = text;
  caret.from = caret.to = text.length;
}

// ---- those that were asked before ----

const KEY = "heddle-queries";
const MOST = 20;
const LONGEST = 20000; // characters

function recalled(): string[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(list) ? list.filter((each) => typeof each === "string").slice(0, MOST) : [];
  } catch {
    return []; // no storage here, or not ours
  }
}

export const recent = signal<readonly string[]>(recalled());

function remember(sql: string): void {
  if (sql.length > LONGEST) return;
  recent.value = [sql, ...recent.value.filter((each) => each !== sql)].slice(0, MOST);
  try {
    localStorage.setItem(KEY, JSON.stringify(recent.value));
  } catch {
    // lost when the tab is closed
  }
}
