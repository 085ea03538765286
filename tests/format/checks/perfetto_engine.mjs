// perfetto_engine.mjs - Perfetto's own trace_processor, run by Node.js as its UI runs it: the worker's script and the
// WebAssembly beside it, spoken to in the messages of protos/perfetto/trace_processor/trace_processor.proto.
//
// usage: node perfetto_engine.mjs FOLDER FILE...
//
// Writes a line of JSON for each file: what trace_processor made of it, or the error that it said or ended with.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";
import {fileURLToPath} from "node:url";

const METHOD = {append: 1, finish: 2, query: 3, reset: 11};
const FIELD = {message: 1, sequence: 1, request: 2, fatal: 5, invalid: 4, data: 101, query: 103, appended: 201, rows: 203,
  finished: 212};
const CELL = {none: 1, integer: 2, real: 3, text: 4};
const PIECE = 16 << 20;

// ---- protobuf ----

function varint(value) {
  const out = [];
  for (; value >= 128; value = Math.floor(value / 128)) out.push(value % 128 | 128);
  return Buffer.from([...out, value]);
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, data) => Buffer.concat([varint(field * 8 + 2), varint(data.length), data]);

// [value, what is behind it]; undefined where the data ends before.
function readVarint(data, at) {
  for (let value = 0n, shift = 0n; at < data.length; shift += 7n) {
    const byte = data[at++];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return [value, at];
  }
}

// {field: [values]}
function fields(data) {
  const out = {};
  for (let at = 0; at < data.length;) {
    let [tag, behind] = readVarint(data, at), value;
    if (Number(tag) & 2) {
      const [size, start] = readVarint(data, behind);
      value = data.subarray(start, behind = start + Number(size));
    } else {
      [value, behind] = readVarint(data, behind);
    }
    (out[Number(tag) >> 3] ??= []).push(value);
    at = behind;
  }
  return out;
}

function* cellsOf(batch) {
  const {1: [kinds] = [Buffer.alloc(0)], 2: [integers] = [], 3: [reals] = [], 5: [texts] = []} = fields(batch);
  const strings = texts?.toString().split("\0");
  let at = 0, real = 0, string = 0, value;
  for (const kind of kinds) {
    if (kind === CELL.integer) [value, at] = readVarint(integers, at);
    if (kind === CELL.none) yield null;
    else if (kind === CELL.integer) yield BigInt.asIntN(64, value);
    else if (kind === CELL.real) yield reals.readDoubleLE(8 * real++);
    else if (kind === CELL.text) yield strings[string++];
    else throw new Error(`a cell of kind ${kind}`);
  }
}

// ---- the engine ----

export class Engine {
  constructor(folder) { this.folder = folder; }

  // The script believes that it is a worker of a page, whose files lie in the folder.
  async start() {
    const {folder} = this, self = {location: {href: "http://perfetto/"}};
    this.log = [];
    const say = (...words) => this.log.push(words.join(" "));
    const context = vm.createContext({self, WorkerGlobalScope: Object, URL, TextDecoder, TextEncoder, performance, crypto, setTimeout,
      console: {log: say, warn: say, error: say},
      XMLHttpRequest: class {
        open(_, url) { this.file = path.join(folder, path.basename(url)); }
        send() { this.response = fs.readFileSync(this.file); }
      }});
    vm.runInContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"), context);
    this.Bytes = vm.runInContext("Uint8Array", context);
    this.answers = [];
    this.rest = Buffer.alloc(0);
    this.sequence = 0;
    this.port = {postMessage: data => this.receive(data)};
    self.onmessage({data: this.port});
    await new Promise(setImmediate);
    this.isFresh = true;
  }

  receive(data) {
    this.rest = Buffer.concat([this.rest, data]);
    for (;;) {
      const [size, start] = readVarint(this.rest, 1) ?? [];
      if (size === undefined || this.rest.length < start + Number(size)) return;
      this.answers.push(fields(this.rest.subarray(start, start + Number(size))));
      this.rest = this.rest.subarray(start + Number(size));
    }
  }

  // The answers to a request; they come while it is made.
  call(method, ...args) {
    const message = Buffer.concat([number(FIELD.sequence, this.sequence++), number(FIELD.request, method), ...args]);
    this.port.onmessage({data: new this.Bytes(bytes(FIELD.message, message))});
    const answers = this.answers.splice(0);
    for (const answer of answers) {
      if (answer[FIELD.fatal] || answer[FIELD.invalid]) throw new Error(`refused: ${answer[FIELD.fatal]}`);
    }
    if (!answers.length) throw new Error("no answer\n" + this.log.slice(-9).join("\n"));
    return answers;
  }

  // Forgets the file before.
  load(data) {
    if (!this.isFresh) this.call(METHOD.reset);
    this.isFresh = false;
    const said = [];
    for (let at = 0; at < data.length && !said.length; at += PIECE) {
      for (const answer of this.call(METHOD.append, bytes(FIELD.data, data.subarray(at, at + PIECE))))
        said.push(...fields(answer[FIELD.appended][0])[2] ?? []);
    }
    if (!said.length) for (const answer of this.call(METHOD.finish)) said.push(...fields(answer[FIELD.finished]?.[0] ?? [])[1] ?? []);
    if (said.length) throw new Error(said.join("\n"));
  }

  query(sql) {
    let width = 0;
    const cells = [], rows = [];
    for (const answer of this.call(METHOD.query, bytes(FIELD.query, bytes(1, Buffer.from(sql))))) {
      const {1: names = [], 2: [error = ""] = [], 3: batches = []} = fields(answer[FIELD.rows][0]);
      if (error.length) throw new Error(`${sql}: ${error}`);
      width += names.length;
      for (const batch of batches) for (const cell of cellsOf(batch)) cells.push(cell);
    }
    for (let at = 0; at < cells.length; at += width) rows.push(cells.slice(at, at + width));
    return rows;
  }
}

// ---- what is in a file ----

const name = of => `ifnull(nullif(${of}.name, ''), '[No name]')`; // as it is called where it comes from JSON
const QUESTIONS = {
  trouble: "select name, sum(value) from stats where value <> 0 and severity in ('error', 'data_loss') group by 1",
  // name, count, nanoseconds, begins from the first one on, how many never ended
  slices: `select ${name("s")}, count(*), total(max(dur, 0)), total(ts - (select min(ts) from slice)), sum(dur < 0) from slice s group by 1`,
  flows: `select ${name("a")}, ${name("b")}, count(*) from flow f join slice a on a.id = f.slice_out
          join slice b on b.id = f.slice_in group by 1, 2`,
  counters: "select t.name, count(*), total(value) from counter c join counter_track t on t.id = c.track_id group by 1",
  args: `select ${name("s")}, key, display_value, count(*) from slice s join args using(arg_set_id)
         where key glob 'debug.*' or key glob 'args.*' group by 1, 2, 3`,
  sched: "select ts, dur, cpu, tid, thread.name, end_state, priority from sched join thread using(utid) where tid <> 0",
  states: "select ts, dur, state, cpu, tid from thread_state join thread using(utid) where tid <> 0",
};

async function main([folder, ...files]) {
  const engine = new Engine(folder);
  await engine.start();
  for (const file of files) {
    const answer = {};
    try {
      engine.load(fs.readFileSync(file));
      for (const [what, sql] of Object.entries(QUESTIONS)) answer[what] = engine.query(sql);
    } catch (e) {
      answer.error = e.message;
      await engine.start(); // what has crashed answers no more
    }
    console.log(JSON.stringify(answer, (_, value) => typeof value === "bigint" ? Number(value) : value));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
