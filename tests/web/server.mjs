// server.mjs - a `heddle view` for a test, and a proxy before it that is slow or fails on demand
import assert from "node:assert/strict";
import {execFileSync, spawn} from "node:child_process";
import {mkdtempSync, readFileSync, rmSync} from "node:fs";
import http from "node:http";
import {tmpdir} from "node:os";
import {basename, join} from "node:path";
import {pathToFileURL} from "node:url";
import {PATIENCE} from "./browser.mjs";

// Starts `heddle view FILES`; {url, port, pid, stop()}. stop() sees to it that the program ends well: with status 0, or 1
// where a file could not be read, and without a word of a sanitizer.
export async function startView(heddle, files, {args = [], env = {}} = {}) {
  const child = spawn(heddle, ["view", "--no-open", "--port", "0", "--json", ...args, ...files],
    {stdio: ["ignore", "pipe", "pipe"], env: {...process.env, ...env}});
  let out = "", errors = "", ended = null;
  child.stderr.on("data", data => { errors += data; });
  const exit = new Promise(resolve => child.on("exit", (code, signal) => { ended = {code, signal}; resolve(ended); }));
  const url = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`heddle view said no address in ${PATIENCE} ms: ${out}${errors}`)), PATIENCE);
    child.stdout.on("data", data => {
      out += data;
      const found = out.match(/http:\/\/[^\s"]+/);
      if (found) { clearTimeout(timer); resolve(found[0]); }
    });
    exit.then(({code}) => { clearTimeout(timer); reject(new Error(`heddle view ended with ${code}: ${out}${errors}`)); });
  });
  return {
    url, pid: child.pid, port: Number(new URL(url).port), said: () => out + errors,
    kill: async () => { child.kill("SIGKILL"); await exit; },
    stop: async () => {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGABRT"), PATIENCE);
      await exit;
      clearTimeout(timer);
      assert.ok(!/Sanitizer|runtime error/.test(errors), errors);
      const status = /^heddle: /m.test(errors) ? 1 : 0;
      assert.ok(ended.code === status || ended.signal === "SIGTERM", `ended with ${JSON.stringify(ended)}: ${errors}`);
    },
  };
}

// The same page without that server: `heddle view --save` writes it with its engine, ENGINE (build/wasm) answers what the
// test itself asks, in this process, and a server of files gives both. {url, stop()}.
export async function startSaved(heddle, files, engine) {
  const {Engine} = await import(pathToFileURL(join(engine, "engine.mjs")));
  const asked = await Engine.start(readFileSync(join(engine, "src/wasm/engine.wasm")));
  const folder = mkdtempSync(join(tmpdir(), "heddle-saved-")), page = join(folder, "page.html");
  execFileSync(heddle, ["view", "--save", page, ...files]);
  for (const file of files) asked.open(readFileSync(file), basename(file));
  while (asked.step());
  const server = http.createServer((request, response) => {
    const parts = [];
    request.on("data", part => parts.push(part));
    request.on("end", () => {
      const isPage = !request.url.startsWith("/api/");
      const answer = isPage ? {status: 200, type: "text/html", body: readFileSync(page)} : asked.ask(request.method, request.url, parts.length ? Buffer.concat(parts) : undefined);
      response.writeHead(answer.status, {"Content-Type": answer.type});
      response.end(answer.body);
    });
  });
  await new Promise(resolve => server.listen(0, "localhost", resolve));
  return {url: `http://localhost:${server.address().port}/`, port: server.address().port, stop: async () => {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
    rmSync(folder, {recursive: true});
  }};
}

// As fetch of a browser, which knows at once that the server has closed a connection. Node sees it only when it turns to its sockets:
// a test that computed for longer than the server keeps an idle connection (30 s) would send its next request into the closed one.
export async function get(url) {
  await new Promise(setImmediate);
  return fetch(url);
}

export async function getJson(url) {
  const answer = await get(url);
  const body = await answer.json();
  assert.equal(answer.status, 200, `${url}: ${JSON.stringify(body)}`);
  return body;
}

// Waits until each trace is ready or failed, and nothing is being worked out; the session then.
export async function waitReady(url) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const session = await getJson(new URL("/api/session", url));
    if (session.traces.every(t => t.state === "failed" || (t.state === "ready" && !t.busy))) return session;
    assert.ok(Date.now() < end, `not ready after ${PATIENCE} ms: ${JSON.stringify(session)}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

// A proxy before a server. `rule(path)` says what becomes of a request: undefined (pass), {delay: ms}, {until: promise},
// {status: 500}, {cut: "before" | "within"}; rule and target may change at any time. asked: their paths, and when, in ms.
export async function startProxy(target) {
  const sockets = new Set();
  const proxy = {target, rule: () => undefined, asked: [], times: []};
  const server = http.createServer((request, response) => {
    const what = proxy.rule(request.url) ?? {};
    proxy.asked.push(request.url);
    proxy.times.push(Date.now());
    if (what.cut === "before") { request.socket.destroy(); return; }
    if (what.status) {
      response.writeHead(what.status, {"Content-Type": "application/json"});
      response.end(JSON.stringify({error: "the proxy of the test says no"}));
      return;
    }
    const waited = what.until ?? new Promise(resolve => setTimeout(resolve, what.delay ?? 0));
    waited.then(() => {
      if (response.destroyed) return;
      const to = new URL(proxy.target);
      const on = http.request({host: to.hostname, port: to.port, method: request.method, path: request.url,
        headers: {...request.headers, host: to.host, ...(request.headers.origin ? {origin: to.origin} : {})}}, answer => {
        response.writeHead(answer.statusCode, answer.headers);
        if (what.cut === "within") {
          answer.once("data", data => { response.write(data.subarray(0, data.length >> 1), () => request.socket.destroy()); });
          return;
        }
        answer.pipe(response);
        answer.on("error", () => response.destroy());
      });
      on.on("error", () => request.socket.destroy());
      response.on("close", () => on.destroy());
      request.pipe(on);
    });
  });
  server.on("connection", socket => { sockets.add(socket); socket.on("close", () => sockets.delete(socket)); });
  await new Promise(resolve => server.listen(0, "127.0.0.1", resolve));
  proxy.url = `http://127.0.0.1:${server.address().port}/`;
  proxy.stop = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise(resolve => server.close(resolve));
  };
  return proxy;
}
