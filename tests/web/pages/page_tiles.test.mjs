// page_tiles.test.mjs - tiles of a real server, read by the page's own decoder, against the events of the file
//
// usage: as page.mjs says; no browser is used
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import {fileURLToPath, pathToFileURL} from "node:url";
import {busyTime, columnsOf, depthsOf, gapsOf, onTrack, readChrome, unionOf} from "../oracle.mjs";
import {get, getJson, startView, waitReady} from "../server.mjs";

const [, folder, heddle, ...only] = process.argv.slice(2);
const page = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../../src/view/web");

async function loadDecoder() {
  const out = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "decoder-")), "decode.mjs");
  execFileSync(path.join(page, "node_modules/.bin/esbuild"),
    [path.join(page, "src/data/tile_decode.ts"), "--bundle", "--format=esm", `--outfile=${out}`, "--log-level=error"]);
  return (await import(pathToFileURL(out))).decodeTiles;
}
const decodeTiles = await loadDecoder();

async function tilesOf(server, z, i, tracks, detail = "rows") {
  const answer = await get(new URL(`/api/tiles?trace=0&z=${z}&i=${i}&tracks=${tracks.join()}&detail=${detail}`, server.url));
  assert.equal(answer.status, 200, await answer.clone().text());
  const tiles = decodeTiles(await answer.arrayBuffer(), z, i);
  assert.deepEqual(tiles.map(t => t.track), tracks, "tiles come in the order asked for");
  assert.ok(tiles.every(t => t.exact), "all is laid out, so tiles are exact");
  return tiles;
}

// Of a row of a tile, what the page may draw per column: from the aggregate, or from the exact events.
function columnsOfRow(row, width) {
  const columns = Array.from({length: 512}, () => ({busy: 0, count: 0, aggregate: false, events: []}));
  for (let k = 0; k < row.columns; k++) {
    columns[row.column[k]] = {busy: row.busy[k], count: row.count[k], longest: row.longest[k], name: row.name[k],
      row: row.row[k], aggregate: true, events: []};
  }
  for (let k = 0; k < row.events; k++) {
    const start = row.start[k], end = start + row.duration[k];
    const first = Math.floor(start / width), last = end > start ? Math.ceil(end / width) - 1 : first;
    for (let c = Math.max(0, first); c <= Math.min(511, last); c++) {
      const column = columns[c];
      if (column.aggregate) continue;
      column.events.push(k);
      column.busy += Math.max(0, Math.min(end, (c + 1) * width) - Math.max(start, c * width));
      if (c === first) column.count++;
    }
  }
  return columns;
}

function assertRow(row, slices, names, {zero, width, where}) {
  const wanted = columnsOf(slices, zero, width, 512), got = columnsOfRow(row, width);
  const known = new Set(slices.map(s => `${s.start - zero} ${s.end - s.start} ${s.name}`));
  let starting = 0;
  for (let c = 0; c < 512; c++) {
    const place = `${where} column ${c}`;
    assert.equal(got[c].busy, wanted[c].busy, `${place}: busy`);
    assert.equal(got[c].count, wanted[c].count, `${place}: count`);
    assert.equal(got[c].aggregate, wanted[c].touched >= 3, `${place}: three events or more are an aggregate, ${wanted[c].touched} touch it`);
    starting += wanted[c].count;
    if (got[c].aggregate) {
      assert.equal(got[c].longest, wanted[c].longest, `${place}: longest`);
      const times = [...wanted[c].names.values()], ofName = wanted[c].names.get(names.get(got[c].name));
      if (wanted[c].touched <= 256) assert.equal(ofName, Math.max(...times), `${place}: the name with most time`);
    } else {
      assert.equal(got[c].events.length, wanted[c].touched, `${place}: all events of an exact column are there`);
    }
  }
  assert.equal(row.starting, starting, `${where}: starting`);
  const seen = new Set();
  for (let k = 0; k < row.events; k++) {
    assert.ok(known.has(`${row.start[k]} ${row.duration[k]} ${names.get(row.eventName[k])}`),
      `${where}: no event of the file: ${row.start[k]} ${row.duration[k]} ${names.get(row.eventName[k])}`);
    assert.ok(!seen.has(row.eventRow[k]), `${where}: event ${row.eventRow[k]} is there twice`);
    assert.ok(k === 0 || row.start[k - 1] <= row.start[k], `${where}: start order`);
    seen.add(row.eventRow[k]);
  }
  return row.starting;
}

async function check(name, zooms, pids = null) {
  const trace = readChrome(path.join(folder, `${name}.json`));
  const server = await startView(heddle, [path.join(folder, `${name}.json`)]);
  try {
    const session = await waitReady(server.url), start = Number(session.traces[0].start_ns);
    assert.equal(start, trace.start, "the trace starts with its first event");
    assert.equal(session.traces[0].span_ns, Math.max(1, trace.end - trace.start), "span");
    const {tracks, names: count} = await getJson(new URL("/api/tracks?trace=0", server.url));
    const names = new Map();
    for (let at = 1; at < count; at += 4000) {
      const ids = `${at}-${Math.min(count - 1, at + 3999)}`;
      for (const n of (await getJson(new URL(`/api/names?trace=0&ids=${ids}`, server.url))).names) names.set(n.id, n.text);
    }
    let checked = 0;
    for (const track of tracks.filter(t => t.kind === "slices" && !t.derived && t.events_kind === "slice")) {
      if (pids && !pids.includes(`${track.pid}/${track.tid}`)) continue;
      const slices = onTrack(trace, track.pid, track.tid);
      assert.equal(track.events, slices.length, `events of ${track.name}`);
      const rows = depthsOf(slices);
      assert.equal(track.rows, rows.length, `rows of ${track.name}`);
      for (const z of zooms) {
        const width = 2 ** z, from = Math.floor((trace.start - start) / width / 512);
        const until = Math.floor((trace.end - start) / width / 512), every = Math.ceil((until - from + 1) / 24);
        let starting = 0;
        for (let i = from; i <= until; i += every) {
          const zero = start + i * 512 * width, where = `${name}, ${track.name}, z ${z}, tile ${i}`;
          const [tile] = await tilesOf(server, z, i, [track.id]);
          assert.equal(tile.rows.length, rows.length, where);
          tile.rows.forEach((row, r) => { starting += assertRow(row, rows[r], names, {zero, width, where: `${where}, row ${r}`}); });
          const [summary] = await tilesOf(server, z, i, [track.id], "summary");
          assert.equal(summary.rows.length, 1);
          const busy = columnsOf(slices, zero, width, 512);
          columnsOfRow(summary.rows[0], width).forEach((column, c) =>
            assert.equal(column.busy, busy[c].busy, `${where}, summary, column ${c}: busy`));
        }
        if (every === 1) assert.equal(starting, slices.length, `${name}, ${track.name}, z ${z}: all events start in a tile`);
        checked++;
      }
    }
    assert.ok(checked > 0, `${name}: nothing was looked at`);
  } finally {
    await server.stop();
  }
}

// What a device does: compute, communication, copies and idle time make up the span of its work, ns for ns.
async function checkDerived() {
  const trace = readChrome(path.join(folder, "small.json")), gpu = onTrack(trace, 0), zero = trace.start;
  const server = await startView(heddle, [path.join(folder, "small.json")]);
  try {
    await waitReady(server.url);
    const {tracks} = await getJson(new URL("/api/tracks?trace=0", server.url));
    const track = role => tracks.find(t => t.role === role && t.derived && t.kind === "slices");
    const isCopy = s => s.category !== "kernel", isTalk = s => s.category === "kernel" && /nccl/i.test(s.name);
    const copies = gpu.filter(isCopy), talk = gpu.filter(isTalk), compute = gpu.filter(s => !isCopy(s) && !isTalk(s));
    const from = Math.min(...gpu.map(s => s.start)), until = Math.max(...gpu.map(s => s.end));
    const wanted = {compute: unionOf(compute), communication: unionOf(talk), copy: unionOf(copies),
      idle: gapsOf(gpu, from, until).map(g => ({start: g.start, end: g.start + g.duration})),
      exposed: unionOf(talk).flatMap(s => gapsOf(gpu.filter(k => !isTalk(k)), s.start, s.end)).map(g => ({start: g.start, end: g.start + g.duration}))};
    const shown = {};
    for (const [role, slices] of Object.entries(wanted)) {
      const [tile] = await tilesOf(server, 13, 0, [track(role).id], "summary");
      shown[role] = columnsOfRow(tile.rows[0], 8192).map(c => c.busy);
      columnsOf(slices, zero, 8192, 512).forEach((column, c) => assert.equal(shown[role][c], column.busy, `${role}, column ${c}`));
      assert.equal(shown[role].reduce((a, b) => a + b, 0), busyTime(slices), `${role}: all of it`);
    }
    assert.equal(busyTime(gpu) + busyTime(wanted.idle), until - from, "busy and idle make up the span");
    const sum = shown.compute.reduce((a, b) => a + b, 0) + shown.copy.reduce((a, b) => a + b, 0)
      + shown.communication.reduce((a, b) => a + b, 0) + shown.idle.reduce((a, b) => a + b, 0);
    const twice = busyTime(compute) + busyTime(copies) + busyTime(talk) - busyTime(gpu);
    assert.equal(sum - twice, until - from, "and so do the four rows, less what runs at once");
  } finally {
    await server.stop();
  }
}

// A page that starts has the tracks with its first answer: those that /api/tracks tells.
async function checkStart() {
  const server = await startView(heddle, [path.join(folder, "busy37.json"), path.join(folder, "small.json")]);
  try {
    await waitReady(server.url);
    const session = await getJson(new URL("/api/session?with=tracks", server.url));
    assert.equal(session.lists.length, 2);
    for (const trace of [0, 1]) {
      assert.deepEqual(session.lists[trace], await getJson(new URL(`/api/tracks?trace=${trace}`, server.url)));
      assert.equal(session.lists[trace].revision, session.traces[trace].tracks);
    }
    assert.equal((await getJson(new URL("/api/session", server.url))).lists, undefined);
    for (const with_ of ["", "names", "tracks,names"]) {
      assert.equal((await fetch(new URL(`/api/session?with=${with_}`, server.url))).status, 400, with_);
    }
  } finally {
    await server.stop();
  }
}

// Twenty clients ask for all at once, in different orders: each has the answers that one alone has.
async function checkClients() {
  const server = await startView(heddle, [path.join(folder, "busy37.json"), path.join(folder, "small.json")]);
  try {
    await waitReady(server.url);
    const asks = [];
    for (const trace of [0, 1]) {
      const {tracks} = await getJson(new URL(`/api/tracks?trace=${trace}`, server.url)), ids = tracks.map(t => t.id).join();
      for (const z of [10, 12, 14, 18]) asks.push(`tiles?trace=${trace}&z=${z}&i=0&tracks=${ids}`);
      asks.push(`names?trace=${trace}&ids=1-20`, `fidelity?trace=${trace}`, `event?trace=${trace}&kind=slice&row=3`,
        `flows?trace=${trace}&from=0&until=90000000&all=1`);
    }
    const answerOf = async ask => {
      const answer = await fetch(new URL(`/api/${ask}`, server.url));
      assert.equal(answer.status, 200, ask);
      return Buffer.from(await answer.arrayBuffer());
    };
    const alone = [];
    for (const ask of asks) alone.push(await answerOf(ask));
    await Promise.all(Array.from({length: 20}, async (_, client) => {
      for (let k = 0; k < asks.length; k++) {
        const at = (k * (client % 2 ? 1 : asks.length - 1) + client) % asks.length;
        assert.ok(alone[at].equals(await answerOf(asks[at])), `client ${client}: ${asks[at]}`);
      }
    }));
  } finally {
    await server.stop();
  }
}

const tests = [
  ["small", [0, 6, 10, 12, 13, 20, 54], ["100/100", "100/101", "0/7", "0/20"]],
  ["busy37", [2, 8, 11, 14, 17, 18, 30]],
  ["negative_times", [4, 10, 13, 14, 30]],
  ["one_event", [0, 3, 10, 54]],
  ["deep", [5, 10, 12, 16]],
  ["right_to_left", [5, 7, 12]],
  ["long_names", [5, 9, 12]],
  ["many_tracks", [5, 14], ["0/0", "3/333", "99/9999"]],
].map(([name, zooms, pids]) => [`tiles of ${name} say what the file says`, () => check(name, zooms, pids)]).concat([
  ["rows of what a device does add up to its span", checkDerived],
  ["the first answer to a page has the tracks of all traces", checkStart],
  ["twenty clients at once have the answers that one has", checkClients],
]).filter(([name]) => !only.length || only.some(o => name.includes(o)));

let failed = 0;
for (const [name, body] of tests) {
  try {
    await body();
    console.log(`ok: ${name}`);
  } catch (e) {
    failed++;
    console.log(`failed: ${name}\n${e.stack}`);
  }
}
console.log(`${tests.length - failed} passed, ${failed} failed, 0 skipped`);
process.exit(failed || !tests.length ? 1 : 0);
