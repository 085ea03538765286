// Serves the built web UI with a synthetic trace (fake_trace.ts), for visual checks and timings without `heddle view`:
// node test/fake_server.mjs PAGE-DIR PORT [ROWS [EVENTS]]
import { build } from "esbuild";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [page, port, rows = "4", events = "5000"] = process.argv.slice(2);
const bundle = await build({ absWorkingDir: here, entryPoints: ["fake_trace.ts"], bundle: true, format: "esm", write: false });
const { demoTrace } = await import(`data:text/javascript;base64,${Buffer.from(bundle.outputFiles[0].contents).toString("base64")}`);
const trace = demoTrace(Number(rows), Number(events));
const types = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };

const ids = (text) => text.split(",").flatMap((part) => {
  const [a, b = a] = part.split("-").map(Number);
  return Array.from({ length: b - a + 1 }, (_, k) => a + k);
});
const routes = {
  session: () => ({ version: "fake", session: "fake", revision: 1, traces: [{
    id: 0, name: "synthetic", format: "fake", state: "ready", done: 1, total: 1, start_ns: "1700000000000000000", span_ns: trace.span(),
    offset_ns: 0, rank: null, unix_ns: "1700000000123456789", tracks: 1, busy: "" }] }),
  tracks: () => ({ revision: 1, names: trace.names.length, tracks: trace.tracks.map((track) => track.info) }),
  tiles: (q) => trace.tiles(Number(q.get("z")), Number(q.get("i")), ids(q.get("tracks")), q.get("detail") === "summary"),
  names: (q) => ({ names: ids(q.get("ids")).map((id) => ({ id, text: trace.names[id] ?? "", category: "kernel", role: "kernel" })) }),
};

createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  const [, api, name] = url.pathname.match(/^\/(?:(api)\/)?(.*)$/);
  response.setHeader("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'");
  if (api && routes[name]) {
    if (name === "session" && url.searchParams.has("after")) return void setTimeout(() => response.end(JSON.stringify(routes.session())), 20000);
    const answer = routes[name](url.searchParams);
    response.end(answer instanceof Uint8Array ? answer : JSON.stringify(answer));
  } else if (api) {
    response.statusCode = 404;
    response.end(JSON.stringify({ error: `the fake server has no ${name}` }));
  } else {
    const file = name === "" ? "index.html" : name;
    response.setHeader("Content-Type", types[file.split(".").pop()] ?? "application/octet-stream");
    try {
      response.end(readFileSync(join(page, file.replace(/[^a-z.]/g, ""))));
    } catch {
      response.statusCode = 404;
      response.end("{}");
    }
  }
}).listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/`));
