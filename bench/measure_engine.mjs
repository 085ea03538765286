// The engine in WebAssembly against the command's server with one thread: user CPU seconds of the same requests, medians.
//
//   node bench/measure_engine.mjs HEDDLE build/wasm FILE [RUNS]
//
// Each run starts a new Node and a new server, in turn. open: until the file is read; layout: until all tracks are laid out;
// tiles: those of all tracks, over the whole trace and over a hundredth of it, as the viewer requests them; then two reports.
// The server's times come from /proc, in steps of 10 ms. start: the engine alone, with V8's compilation of the module.
import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const REPORTS = ["summary", "kernels"], AT_ONCE = 100;

function* tiles(session, tracks) {
  const span = Number(session.traces[0].span_ns), ids = tracks.map(({ id }) => id);
  for (const part of [span, span / 100]) {
    const z = Math.max(0, Math.ceil(Math.log2(part / 512)));
    for (let k = 0; k < ids.length; k += AT_ONCE) {
      for (let i = 0; i <= Math.floor(part / (512 * 2 ** z)); i++) yield `/api/tiles?trace=0&z=${z}&i=${i}&tracks=${ids.slice(k, k + AT_ONCE)}&detail=rows`;
    }
  }
}

const jsonOf = (body) => JSON.parse(Buffer.from(body).toString());

// ask(uri): the body of an answer; used(): user CPU seconds so far.
async function answers(ask, used) {
  const times = {}, session = jsonOf(await ask("/api/session")), { tracks } = jsonOf(await ask("/api/tracks?trace=0"));
  let before = used(), bytes = 0;
  for (const uri of tiles(session, tracks)) bytes += (await ask(uri)).byteLength;
  times.tiles = used() - before;
  for (const name of REPORTS) {
    before = used();
    bytes += jsonOf(await ask(`/api/report?trace=0&name=${name}`)).tables.length;
    times[name] = used() - before;
  }
  return { times, bytes };
}

async function engine(folder, file) {
  const used = () => process.cpuUsage().user / 1e6;
  const { Engine } = await import(pathToFileURL(join(folder, "engine.mjs")));
  const times = {};
  let before = used();
  const one = await Engine.start(readFileSync(join(folder, "src/wasm/engine.wasm")));
  times.start = used() - before;
  const bytes = readFileSync(file);
  before = used();
  one.open(bytes, basename(file));
  one.step();
  times.open = used() - before;
  before = used();
  while (one.step());
  times.layout = used() - before;
  const rest = await answers((uri) => one.ask("GET", uri).body, used);
  return { times: { ...times, ...rest.times }, bytes: rest.bytes, memory: one.memoryBytes() };
}

async function server(heddle, file) {
  const child = spawn(heddle, ["view", "--json", "--no-open", "--port", "0", "--threads", "1", "--memory-limit", "3Gi", file], { stdio: ["ignore", "pipe", "inherit"] });
  const used = () => Number(readFileSync(`/proc/${child.pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ")[11]) / 100;
  try {
    const url = await new Promise((resolve, reject) => {
      let text = "";
      child.on("exit", (status) => reject(new Error(`heddle view ended with ${status}`)));
      child.stdout.on("data", (part) => {
        text += part;
        if (text.endsWith("}\n")) resolve(JSON.parse(text).url.replace(/\/$/, ""));
      });
    });
    const ask = async (uri) => {
      await new Promise(setImmediate);
      const answer = await fetch(url + uri);
      if (!answer.ok) throw new Error(`${uri}: ${await answer.text()}`);
      return answer.arrayBuffer();
    };
    const times = {};
    for (let after = ""; ;) {
      const session = jsonOf(await ask(`/api/session${after}`)), [{ state, busy }] = session.traces;
      if (state !== "reading") times.open ??= used();
      if (state === "failed" || (state === "ready" && !busy)) break;
      after = `?after=${session.revision}`;
    }
    times.layout = used() - times.open;
    const rest = await answers(ask, used);
    return { times: { ...times, ...rest.times }, bytes: rest.bytes };
  } finally {
    child.removeAllListeners("exit");
    child.kill();
  }
}

const [first, second, third, runs = "3"] = process.argv.slice(2);
if (first === "--engine") {
  console.log(JSON.stringify(await engine(second, third)));
  process.exit();
}
const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const found = { engine: [], server: [] };
for (let run = 0; run < Number(runs); run++) {
  found.engine.push(JSON.parse(execFileSync(process.execPath, [fileURLToPath(import.meta.url), "--engine", second, third], { encoding: "utf8" })));
  found.server.push(await server(first, third));
}
if (found.engine[0].bytes !== found.server[0].bytes) console.log(`answers differ in size: ${found.engine[0].bytes} and ${found.server[0].bytes} bytes`);
const of = (who, name) => median(found[who].map(({ times }) => times[name] ?? 0));
console.log(`${basename(third)}, ${readFileSync(third).length} bytes, ${runs} runs in turn; the engine's memory: ${found.engine[0].memory} bytes`);
console.log("| | heddle, one thread | engine in Node | ratio |\n|---|---|---|---|");
let sums = [0, 0];
for (const name of ["start", "open", "layout", "tiles", ...REPORTS]) {
  const [a, b] = [of("server", name), of("engine", name)];
  sums = [sums[0] + a, sums[1] + b];
  console.log(`| ${name} | ${a.toFixed(2)} s | ${b.toFixed(2)} s | ${a >= 0.1 ? (b / a).toFixed(2) : ""} |`);
}
console.log(`| all | ${sums[0].toFixed(2)} s | ${sums[1].toFixed(2)} s | ${(sums[1] / sums[0]).toFixed(2)} |`);
