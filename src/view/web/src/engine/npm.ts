// The package `heddle-engine`: traces of any profiler, read in this thread, in Node or a browser.
//
//   import { Heddle } from "heddle-engine";
//   const heddle = await Heddle.start();
//   const trace = heddle.open(readFileSync("trace.json.gz"), "trace.json.gz");
//   console.log(heddle.query("select name, sum(dur) from slice group by 1 order by 2 desc limit 5").rows);
//   console.log(trace.report("summary"));
import { Engine, type Answer } from "./engine";

export type Cell = string | number | null;

export interface QueryResult {
  columns: { name: string; type: string }[];
  rows: Cell[][]; // at most 10,000
  stopped: string | null; // why there are no more rows: "rows", "bytes"; null: these are all
  ms: number;
}

/** A report, as `heddle report NAME --json` describes it (docs/reports). */
export type Report = Record<string, unknown>;

const utf8 = new TextEncoder();
const jsonOf = (answer: Answer): Record<string, unknown> => JSON.parse(new TextDecoder().decode(answer.body)) as Record<string, unknown>;

function checked(answer: Answer): Answer {
  if (answer.status < 400) return answer;
  throw new Error(String(jsonOf(answer).error ?? `status ${answer.status}`));
}

const addressOf = (path: string, params: Record<string, string | number>): string => {
  const query = Object.entries(params).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `/api/${path}${query.length ? `?${query.join("&")}` : ""}`;
};

interface Known {
  id: number;
  state: string;
  error?: string;
  format: string;
  span_ns: number;
  rank: number | null;
}

export class Trace {
  constructor(private readonly engine: Engine, private readonly known: Known, readonly name: string) {}

  get format(): string { return this.known.format; }
  get spanNs(): number { return this.known.span_ns; }
  get rank(): number | null { return this.known.rank; }

  /**
   * `options` are those of the command, without their dashes: {by: "stack"}. Throws: no such report or option,
   * or the trace has not what the report needs.
   */
  report(name: string, options: Record<string, string> = {}): Report {
    return jsonOf(checked(this.engine.ask("GET", addressOf("report", { trace: this.known.id, name, ...options }))));
  }

  /** Events that overlap a range of ns from the trace's start, as a file of the format. */
  crop(format: "heddle" | "json" | "json.gz" | "pftrace" = "heddle", from = 0, until = this.known.span_ns + 1): Uint8Array {
    return checked(this.engine.ask("GET", addressOf("crop", { trace: this.known.id, from, until, format }))).body;
  }

  /** No later answer contains it. Its memory stays in use. */
  close(): void {
    checked(this.engine.ask("POST", addressOf("close", { trace: this.known.id })));
  }
}

export class Heddle {
  private constructor(private readonly engine: Engine) {}

  /** `module`: engine.wasm, which is next to this file if it is left out. */
  static async start(module?: BufferSource): Promise<Heddle> {
    return new Heddle(await Engine.start(module ?? (await ownModule())));
  }

  /**
   * Reads a whole file; `name` appears in answers. A Blob can be read in a Worker only. Throws with the reason if no
   * reader takes it, or if it needs more than 4 GB of memory.
   */
  open(data: Uint8Array | Blob, name: string): Trace {
    const id = this.engine.open(data, name);
    while (this.engine.step());
    const session = jsonOf(checked(this.engine.ask("GET", "/api/session"))) as unknown as { traces: Known[] };
    const known = session.traces.find((trace) => trace.id === id);
    if (!known || known.state !== "ready") throw new Error(`${name}: ${known?.error ?? "could not be read"}`);
    return new Trace(this.engine, known, name);
  }

  /** The names of all reports and what each is about. */
  reports(): Report[] {
    return jsonOf(checked(this.engine.ask("GET", "/api/reports"))).reports as Report[];
  }

  private ask(sql: string, parameters: Record<string, string | number>, format: string): Answer {
    const named = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [`:${name}`, value]));
    const answer = checked(this.engine.ask("POST", addressOf("query", { format, ...named }), utf8.encode(sql)));
    if (!answer.type.startsWith("application/json")) return answer;
    const { error } = jsonOf(answer) as { error?: { message: string } };
    if (error) throw new Error(error.message);
    return answer;
  }

  /** SQL over all open traces (docs/query.md); `:name` in it is set from `parameters`. Throws an Error of SQLite's. */
  query(sql: string, parameters: Record<string, string | number> = {}): QueryResult {
    return jsonOf(this.ask(sql, parameters, "json")) as unknown as QueryResult;
  }

  /** All rows, as a Parquet file. */
  queryParquet(sql: string, parameters: Record<string, string | number> = {}): Uint8Array {
    return this.ask(sql, parameters, "parquet").body;
  }

  /** All rows, as bytes of Arrow's IPC streaming format: tableFromIPC(…) of apache-arrow reads them. */
  queryArrow(sql: string, parameters: Record<string, string | number> = {}): Uint8Array {
    return this.ask(sql, parameters, "arrow").body;
  }

  /** Of the engine, with all traces. */
  memoryBytes(): number {
    return this.engine.memoryBytes();
  }
}

// Node's fetch takes no file: URLs.
async function ownModule(): Promise<BufferSource> {
  const address = new URL("engine.wasm", import.meta.url);
  if (address.protocol !== "file:") return (await fetch(address)).arrayBuffer();
  const { readFile } = (await import("node:fs/promises" as string)) as { readFile(url: URL): Promise<Uint8Array<ArrayBuffer>> };
  return readFile(address);
}
