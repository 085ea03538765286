// The engine in WebAssembly answers what the server of the command answers, byte by byte.
//
//   node compare.mjs HEDDLE ENGINE.mjs ENGINE.wasm FILE...
//
// Members that always differ are left out: the session's id, revisions, which count changes, and measured times.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";

const [heddle, engineCode, engineModule, ...files] = process.argv.slice(2);
const { Engine } = await import(pathToFileURL(engineCode));
const SETTLED_MS = 120000;

function serve(file) {
  const child = spawn(heddle, ["view", "--json", "--no-open", "--port", "0", "--threads", "1", "--memory-limit", "3Gi", file], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    let text = "";
    child.on("error", reject);
    child.on("exit", (status) => reject(new Error(`heddle view ended with status ${status}`)));
    child.stdout.on("data", (part) => {
      text += part;
      if (!text.endsWith("}\n")) return;
      child.removeAllListeners("exit");
      resolve({ child, url: JSON.parse(text).url.replace(/\/$/, "") });
    });
  });
}

async function ofServer(url, method, uri, body) {
  await new Promise(setImmediate); // the server may have closed the connection while the engine computed
  const answer = await fetch(url + uri, { method, body });
  return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) };
}

const comparable = (body) =>
  body.toString("latin1").replace(/"tracks":\d+,"busy"/g, '"tracks":0,"busy"').replace(/"(session|revision|ms|seconds)":("[^"]*"|[0-9.e+-]+)/g, '"$1":0');

function* questions(session, tracks) {
  const span = Number(session.traces[0].span_ns);
  const ids = tracks.map((track) => track.id);
  yield ["GET", "/api/session?with=tracks"];
  yield ["GET", "/api/tracks?trace=0"];
  for (let z = 0; span / (512 * 2 ** z) > 0.4; z += 3) {
    const last = Math.floor(span / (512 * 2 ** z));
    for (const i of new Set([0, last >> 1, last])) {
      for (const detail of ["rows", "summary"]) yield ["GET", `/api/tiles?trace=0&z=${z}&i=${i}&tracks=${ids.slice(0, 300).join(",")}&detail=${detail}`];
    }
  }
  yield ["GET", "/api/names?trace=0&ids=1-2000"];
  for (const kind of ["slice", "instant", "async", "sample", "counter", "flow"]) {
    for (const row of [0, 1, 9, 333, 70000]) yield ["GET", `/api/event?trace=0&kind=${kind}&row=${row}`];
  }
  for (const track of ids.slice(0, 12)) {
    for (const go of ["first", "next", "last"]) yield ["GET", `/api/step?trace=0&track=${track}&time=${Math.floor(span / 2)}&go=${go}`];
    yield ["GET", `/api/snap?trace=0&time=${Math.floor(span / 3)}&within=100000&tracks=${track}`];
  }
  for (const mode of ["text", "regex", "glob"]) yield ["GET", `/api/search?trace=0&q=a&mode=${mode}&from=0`];
  yield ["GET", `/api/find?trace=0&q=${encodeURIComponent("dur > 1us")}&limit=20`];
  for (const [from, until] of [[0, span], [Math.floor(span / 4), Math.floor(span / 2)]]) {
    for (const sort of ["total", "self", "count"]) yield ["GET", `/api/select?trace=0&from=${from}&until=${until}&sort=${sort}`];
    yield ["GET", `/api/flows?trace=0&from=${from}&until=${until}&all=1`];
    for (const of of ["gpu", "cpu", "slices"]) yield ["GET", `/api/flame?trace=0&from=${from}&until=${until}&of=${of}&by=time`];
    yield ["GET", `/api/crop?trace=0&from=${from}&until=${until}&format=json`];
  }
  for (const path of ["fidelity?trace=0", "clocks", "reports", "query/tables", "nothing", "event?trace=9&kind=slice&row=0"]) yield ["GET", `/api/${path}`];
  for (const sql of ["select count(*), sum(dur), min(ts) from slice", "select name, count(*), sum(dur) from slice group by 1 order by 3 desc, 1 limit 40",
    "select name from slice where name regexp 'a.*e' order by dur desc, id limit 20", "select round(avg(dur), 3) from slice", "select bogus"]) yield ["POST", "/api/query", sql];
}

async function settled(url) {
  for (const end = Date.now() + SETTLED_MS; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 20))) {
    const session = JSON.parse((await ofServer(url, "GET", "/api/session")).body);
    if (session.traces.every((trace) => trace.state !== "reading" && !trace.busy)) return session;
  }
  throw new Error("the server does not become idle");
}

async function compare(file) {
  const { child, url } = await serve(file);
  try {
    const session = await settled(url);
    const engine = await Engine.start(readFileSync(engineModule));
    const cpu = process.cpuUsage();
    engine.open(readFileSync(file), basename(file));
    let steps = 0;
    while (engine.step()) steps++;
    const used = process.cpuUsage(cpu);
    const problems = [];
    let asked = 0, bytes = 0;
    const ask = async (method, uri, body) => {
      const ours = engine.ask(method, uri, body === undefined ? undefined : new TextEncoder().encode(body));
      const theirs = await ofServer(url, method, uri, body);
      asked++;
      bytes += ours.body.length;
      const a = comparable(Buffer.from(ours.body)), b = comparable(theirs.body);
      if (ours.status === theirs.status && a === b) return;
      let at = 0;
      while (a[at] === b[at]) at++;
      problems.push(`${method} ${uri.slice(0, 90)} ${body ?? ""}\n  engine ${ours.status} …${a.slice(Math.max(0, at - 60), at + 80)}\n  server ${theirs.status} …${b.slice(Math.max(0, at - 60), at + 80)}`);
    };
    if (session.traces[0].state === "ready") {
      const { tracks } = JSON.parse((await ofServer(url, "GET", "/api/tracks?trace=0")).body);
      for (const question of questions(session, tracks)) await ask(...question);
      for (const report of JSON.parse((await ofServer(url, "GET", "/api/reports")).body).reports) await ask("GET", `/api/report?trace=0&name=${report.name}`);
    } else await ask("GET", "/api/session");
    console.log(`${basename(file)}: ${asked} questions, ${problems.length} answers differ, ${bytes} bytes; ${steps} steps, ${Math.round((used.user + used.system) / 1000)} ms of CPU, ${Math.round(engine.memoryBytes() / 2 ** 20)} MiB`);
    for (const problem of problems.slice(0, 10)) console.log(problem);
    return problems.length;
  } finally {
    child.kill();
  }
}

let differ = 0;
for (const file of files) differ += await compare(file);
process.exit(differ ? 1 : 0);
