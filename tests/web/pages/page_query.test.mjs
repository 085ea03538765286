// page_query.test.mjs - SQL on the page: the editor, what it offers, results against the file, where rows go, the address
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import {onTrack, readChrome} from "../oracle.mjs";
import {command, file, open, setState, settled, show, state, test, trackOf, until} from "../page.mjs";
import {getJson} from "../server.mjs";

const small = readChrome(file("small.json")), rank3 = readChrome(file("rank3.json"));
const FOR_EVER = "with recursive c(n) as (select 1 union all select n + 1 from c) select sum(n) from c";

const cellsOf = page => page.$$eval("#pane tbody tr:not(.space)", rows => rows.map(row => [...row.cells].map(cell => cell.textContent)));
const said = page => page.textContent("#pane .bar");
const idle = page => until(page, () => !/Cancel/.test(document.querySelector("#pane .bar").textContent), null, "the query ended");

async function openQuery(page, names = "small.json") {
  const server = await open(page, names);
  await setState(page, "tab", "query");
  await page.waitForSelector("#sql");
  return server;
}

// Runs what is then in the editor.
async function ask(page, sql) {
  await page.fill("#sql", sql);
  await page.keyboard.press("Control+Enter");
  await idle(page);
}

// ---- results ----

test("a result is that of the file", async page => {
  await openQuery(page);
  await ask(page, "select name, count(*) as n, sum(dur) as total from slice where type = 'slice' and dur >= 0 group by name order by total desc, name");
  const wanted = new Map();
  for (const s of small.slices.filter(s => !s.unended)) {
    const row = wanted.get(s.name) ?? [s.name, 0, 0];
    wanted.set(s.name, [s.name, row[1] + 1, row[2] + s.end - s.start]);
  }
  const rows = [...wanted.values()].sort((a, b) => b[2] - a[2] || (a[0] < b[0] ? -1 : 1)).map(row => row.map(String));
  assert.deepEqual(await cellsOf(page), rows.slice(0, (await cellsOf(page)).length));
  assert.match(await said(page), new RegExp(`${rows.length} rows in [0-9.]+ ms`));
});

test("integers are exact, texts are texts, null is told apart", async page => {
  await openQuery(page);
  await ask(page, `select 9223372036854775807 as big, -1 as small, 2.0 as r, '<img src=x onerror="document.title=1">' as html, null as n, x'00ff' as b, 'null' as t`);
  assert.deepEqual(await cellsOf(page), [["9223372036854775807", "-1", "2.0", '<img src=x onerror="document.title=1">', "null", "x'00ff' (2 bytes)", "null"]]);
  assert.equal(await page.locator("#pane td .dim").count(), 1); // of the two the one that is null
  assert.equal(await page.locator("#pane img").count(), 0);
});

test("heads sort exactly, words filter, and CSV is of what is shown", async page => {
  await openQuery(page);
  await page.evaluate(() => { navigator.clipboard.writeText = async text => { window.copied = text; }; });
  await ask(page, `select column1 as v, column2 as w from (values (9007199254740993,'a,b'),(9007199254740992,'x'),('t','x'),(null,'x'),(9007199254740994,'x'),(2,'q"'))`);
  await page.click("#pane th >> nth=0");
  const first = async () => (await cellsOf(page)).map(row => row[0]);
  assert.deepEqual(await first(), ["null", "2", "9007199254740992", "9007199254740993", "9007199254740994", "t"]);
  await page.click("#pane th >> nth=0");
  assert.deepEqual(await first(), ["t", "9007199254740994", "9007199254740993", "9007199254740992", "2", "null"]);
  await page.fill("#pane label:has-text('Rows with') input", "a,b");
  await until(page, () => document.querySelectorAll("#pane tbody tr").length === 1, null, "one row");
  await page.click("#pane >> text=Copy CSV");
  await until(page, () => window.copied, null, "it is copied");
  assert.equal(await page.evaluate(() => window.copied), 'v,w\n9007199254740993,"a,b"\n');
});

test("there may be more rows and columns than the page shows, and it says so", async page => {
  await openQuery(page);
  await ask(page, "with recursive c(n) as (select 1 union all select n + 1 from c limit 10001) select n from c");
  assert.match(await said(page), /The first 10,000 rows in .*; there are more/);
  await ask(page, `select ${Array.from({length: 300}, (_, k) => `${k} as c${k}`)}`);
  assert.match(await said(page), /the first 200 of 300 columns/);
  assert.equal(await page.locator("#pane th").count(), 200);
  await ask(page, "select replace(hex(zeroblob(5000000)), '0', 'x') as long");
  assert.match(await said(page), /1 cell cut/);
  await ask(page, "select 1 where 0");
  assert.match(await page.textContent("#pane"), /No rows\./);
});

test("a query that is wrong is marked where it is wrong, until it is changed", async page => {
  await openQuery(page);
  await ask(page, "select dur,\n  nmae from slice");
  assert.equal(await page.textContent(".sql-wrong"), "nmae");
  assert.match(await page.textContent("#sql-error"), /line 2, column 3: .*nmae.*name/); // with a hint
  assert.equal(await page.getAttribute("#sql", "aria-invalid"), "true");
  await page.click("#sql-error button");
  assert.deepEqual(await page.$eval("#sql", e => [document.activeElement === e, e.value.slice(e.selectionStart, e.selectionEnd)]), [true, "nmae"]);
  await page.keyboard.type("name");
  assert.equal(await page.locator("#sql-error").count(), 0);
  await page.keyboard.press("Control+Enter");
  await until(page, () => document.querySelector("#pane tbody tr"), null, "rows");
});

test("a query that goes on is cancelled, by its button and its keys, and the next is answered", async page => {
  const server = await openQuery(page);
  for (const how of ["button", "Control+.", "Escape"]) {
    await page.fill("#sql", FOR_EVER);
    await page.keyboard.press("Control+Enter");
    await until(page, () => /[1-9] s …/.test(document.querySelector("#pane .bar").textContent.replace("0.0", "")), null, "the time that it takes");
    if (how === "button") await page.click("#pane .bar >> text=Cancel");
    else await page.keyboard.press(how);
    await until(page, () => document.querySelector("#status").textContent === "The query was cancelled.", null, "the message");
    await idle(page);
    await ask(page, "select 'after' as x");
    assert.deepEqual(await cellsOf(page), [["after"]]);
  }
});

test("cancelled queries leave the server's threads free: more than there are, each for longer than anybody waits", async page => {
  const server = await openQuery(page);
  const asked = Array.from({length: 30}, () => http.request(new URL("/api/query?timeout=600000", server.url), {method: "POST"}));
  await Promise.all(asked.map(each => new Promise(resolve => { each.on("error", () => {}).end(FOR_EVER, resolve); })));
  for (const each of asked) each.destroy();
  await ask(page, "select 'free' as x");
  assert.deepEqual(await cellsOf(page), [["free"]]);
}, {server: "requests"});

// ---- rows go to their events ----

const lastSelected = page => page.evaluate(() => window.heddle.app.state.selected.value.at(-1) ?? null);

test("a row with an id goes to its slice, and the result stays", async page => {
  await openQuery(page);
  await ask(page, "select id, ts, dur, name, track_id from slice where category = 'kernel' order by ts");
  const kernels = small.slices.filter(s => s.category === "kernel");
  assert.deepEqual((await cellsOf(page)).map(([, ts, dur, name]) => [ts, dur, name]), kernels.map(s => [String(s.start), String(s.end - s.start), s.name]));
  await page.click("#pane tbody tr >> nth=2 >> td >> nth=0 >> button");
  await until(page, start => window.heddle.app.state.selected.value.at(-1)?.start === start, kernels[2].start - small.start, "the third kernel");
  assert.equal(await state(page, "tab"), "query");
  await page.click("#pane tbody tr >> nth=1 >> td >> nth=1"); // the cell of ts
  await until(page, start => window.heddle.app.state.selected.value.at(-1)?.start === start, kernels[1].start - small.start, "the second kernel");
  await page.click("#pane tbody tr >> nth=0 >> td >> nth=4 >> button");
  const track = await trackOf(page, `stream ${kernels[0].tid}`);
  await until(page, name => window.heddle.app.state.message.value?.text.endsWith(name), track.name, "the track");
});

test("ts and dur without an id go to the event, or to the time; a name to all of its events", async page => {
  await openQuery(page);
  const kernels = small.slices.filter(s => s.category === "kernel"), [one] = kernels;
  await ask(page, `select ${one.start} as ts, ${one.end - one.start} as dur union all select ${one.start + 1}, 1`);
  await page.click("#pane tbody tr >> nth=0 >> td >> nth=0 >> button");
  await until(page, start => window.heddle.app.state.selected.value.at(-1)?.start === start, one.start - small.start, "the event");
  await page.click("#pane tbody tr >> nth=1 >> td >> nth=1 >> button");
  await until(page, () => /its time is shown/.test(window.heddle.app.state.message.value?.text), null, "the time");
  await ask(page, `select name, count(*) as n from slice where name = '${one.name.replaceAll("'", "''")}' group by name`);
  await page.click("#pane tbody tr >> td >> nth=1");
  const count = small.slices.filter(s => s.name === one.name).length;
  await until(page, count => window.heddle.app.state.selected.value.length === count, count, "all of the name");
  assert.equal(await state(page, "tab"), "query");
});

test("a result with ts and dur becomes a track, with ts and a number a counter", async page => {
  await openQuery(page);
  await ask(page, "select ts, dur, name, 0 as device from slice where category = 'kernel'");
  await page.click("#pane >> text=Show as track");
  await until(page, () => /^1 track: .*query: select ts/.test(window.heddle.app.state.message.value?.text), null, "the track is told");
  const kernels = small.slices.filter(s => s.category === "kernel");
  const made = (await state(page, "tracks")).filter(t => t.role === "table");
  assert.deepEqual(made.map(t => [t.events, t.device, t.kind]), [[kernels.length, 0, "slices"]]);
  await ask(page, "select ts, dur + 0 as length from slice where category = 'kernel'");
  await page.click("#pane >> text=Show as track");
  await until(page, () => window.heddle.app.state.tracks.value.filter(t => t.role === "table").length === 2, null, "the counter");
  const counter = (await state(page, "tracks")).find(t => t.role === "table" && t.kind === "counter");
  assert.equal(counter.series[0].max, Math.max(...kernels.map(s => s.end - s.start)));
});

const zeroOf = rank => BigInt(/"baseTimeNanoseconds": ?(\d+)/.exec(fs.readFileSync(file(`rank${rank}.json`), "utf8"))[1]);

test("several traces are one, and rows go to that of their rank", async page => {
  await openQuery(page, Array.from({length: 8}, (_, k) => `rank${k}.json`));
  await ask(page, "select rank, count(*) as n from slice where type = 'slice' group by rank order by rank");
  assert.deepEqual(await cellsOf(page), Array.from({length: 8}, (_, k) => [String(k), String(small.slices.length)]));
  const kernels = rank3.slices.filter(s => s.category === "kernel");
  const later = Number(zeroOf(3) - zeroOf(7)); // SQL counts from the earliest zero, that of rank 7
  await ask(page, "select id, ts, dur, name, rank from slice where rank = 3 and category = 'kernel' order by ts limit 2");
  assert.deepEqual((await cellsOf(page)).map(row => row[1]), kernels.slice(0, 2).map(s => String(s.start + later)));
  await page.click("#pane tbody tr >> nth=1 >> td >> nth=0 >> button");
  await until(page, start => { const e = window.heddle.app.state.selected.value.at(-1); return e?.trace === 3 && e.start === start; }, kernels[1].start - rank3.start, "of rank 3");
  await ask(page, "select rank, ts, dur from slice where rank in (3, 5) and category = 'kernel'");
  await page.click("#pane tbody tr:has-text('3') >> nth=0 >> td >> nth=1 >> button");
  await until(page, () => window.heddle.app.state.selected.value.at(-1)?.trace === 3, null, "by its rank");
  await page.click("#pane >> text=Show as track");
  await until(page, () => window.heddle.app.state.tracks.value.filter(t => t.role === "table").length === 2, null, "a track in each");
  assert.deepEqual((await state(page, "tracks")).filter(t => t.role === "table").map(t => t.trace).sort(), [3, 5]);
});

// ---- the editor ----

const typed = page => page.inputValue("#sql");
const offers = page => page.$$eval(".sqloffers [role=option] span:first-child", all => all.map(each => each.textContent));

test("what may come next is offered, and taken with Tab, or Enter when it was chosen", async page => {
  await openQuery(page);
  await page.fill("#sql", "select * from ");
  await page.click("#sql");
  while (!(await offers(page)).includes("slice")) await page.keyboard.press("Control+Space"); // until the tables are told
  await page.keyboard.press("Escape");
  await page.fill("#sql", "");
  await page.keyboard.type("select cou");
  await page.waitForSelector(".sqloffers");
  assert.equal((await offers(page))[0], "count(");
  assert.equal(await page.getAttribute("#sql", "aria-activedescendant"), "sql-offer-0");
  await page.keyboard.press("Enter"); // a new line, as nobody has chosen
  assert.equal(await typed(page), "select cou\n");
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Tab");
  assert.equal(await typed(page), "select count(");
  await page.keyboard.type("*) from thread_tr");
  await page.keyboard.press("Tab");
  assert.equal(await typed(page), "select count(*) from thread_track");
  await page.keyboard.type(" t where t.");
  await page.waitForSelector(".sqloffers");
  assert.ok((await offers(page)).includes("utid"), String(await offers(page)));
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".sqloffers").count(), 0);
  assert.equal(await page.evaluate(() => document.activeElement.id), "sql"); // the first Esc was for the list
  await page.keyboard.press("Control+Space");
  const all = await offers(page);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  assert.equal(await typed(page), `select count(*) from thread_track t where t.${all[1]}`);
  await page.keyboard.press("Control+z"); // as if it were typed
  assert.equal(await typed(page), "select count(*) from thread_track t where t.");
  await page.keyboard.press("Control+Space");
  await page.locator(".sqloffers [role=option] >> nth=0").click();
  assert.equal(await typed(page), `select count(*) from thread_track t where t.${all[0]}`);
});

test("the colours stand where the text does, in long lines too", async page => {
  await openQuery(page);
  for (const width of [1400, 700]) {
    await page.setViewportSize({width, height: 800});
    await page.fill("#sql", `select ${Array.from({length: 40}, (_, k) => `column_${k}`).join(", ")} -- é\u{1F600}\n\tfrom x\n\n`);
    const sizes = await page.evaluate(() => {
      const field = document.querySelector("#sql"), text = document.querySelector(".sqlscroll pre");
      return [field.scrollHeight - text.scrollHeight, field.clientWidth - text.clientWidth, field.scrollWidth - field.clientWidth];
    });
    assert.deepEqual(sizes, [0, 0, 0]);
    assert.equal(await page.$eval(".sqlscroll pre", e => e.textContent.replace(/\n$/, "")), await typed(page));
  }
});

test("keys in the editor are text: no command runs, and Esc leaves it", async page => {
  await openQuery(page);
  await page.click("#sql");
  const before = await state(page, "range");
  await page.keyboard.type("wsad 0 /?");
  assert.equal(await typed(page), "wsad 0 /?");
  assert.deepEqual(await state(page, "range"), before);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  assert.notEqual(await page.evaluate(() => document.activeElement.id), "sql");
  await page.keyboard.press("q");
  await until(page, () => document.activeElement.id === "sql", null, "q leads back");
  assert.equal(await typed(page), "wsad 0 /?");
});

test("of several statements that of the caret runs, or what is marked", async page => {
  await openQuery(page);
  await page.fill("#sql", "select 'one' as x;\nselect 'two' as x, 'é' as y;\nselect 'three' as x");
  const runAt = async (from, to = from) => {
    await page.$eval("#sql", (e, [from, to]) => { e.focus(); e.setSelectionRange(from, to); e.dispatchEvent(new Event("select")); }, [from, to]);
    await page.keyboard.press("Control+Enter");
    await idle(page);
    return (await cellsOf(page))[0]?.[0];
  };
  assert.equal(await runAt(3), "one");
  assert.equal(await runAt(25), "two");
  assert.equal(await runAt(60), "three");
  await page.fill("#sql", "create view v as select 'é' as x;\nselect 'no';\nselect x, nix from v");
  await runAt(60);
  assert.equal(await page.textContent(".sql-wrong"), "nix");
  await page.fill("#sql", "create view v as select 'é' as x;\nselect 'no';\nselect x from v");
  assert.equal(await runAt(60), "é");
});

test(":from and :until are what is looked at", async page => {
  await openQuery(page);
  await show(page, 430000, 690000);
  await ask(page, "select count(*) as n from slice where type = 'slice' and ts < :until and ts + dur > :from");
  assert.match(await said(page), /Over/);
  const count = small.slices.filter(s => s.start - small.start < 690000 && s.end - small.start > 430000).length;
  assert.deepEqual(await cellsOf(page), [[String(count)]]);
});

// ---- the address, and what was asked before ----

test("the query is in the address: it runs where that is opened, and one can go back", async page => {
  const server = await openQuery(page);
  await settled(page); // a view that still moved would be one more address
  await ask(page, "select 'first & 1' as x");
  await until(page, () => /sql=/.test(location.hash), null, "the address");
  const address = page.url();
  await ask(page, "select 'second' as x");
  await until(page, () => /second/.test(location.hash), null, "the address");
  await page.goBack();
  await until(page, () => document.querySelector("#pane tbody td")?.textContent === "first & 1", null, "the first again");
  assert.equal(await typed(page), "select 'first & 1' as x");
  await page.goto(new URL("/icon.svg", server.url).href);
  await page.goto(address);
  await settled(page);
  await until(page, () => document.querySelector("#pane tbody td")?.textContent === "first & 1", null, "it runs");
});

test("examples and recent queries are put into the editor", async page => {
  await openQuery(page);
  const examples = page.locator("#pane .links button");
  const count = await examples.count();
  assert.ok(count > 3);
  for (let k = 0; k < count; k++) {
    const title = await page.locator(`select[aria-label=Examples] option >> nth=${k + 1}`).textContent();
    await page.selectOption("select[aria-label=Examples]", {label: title});
    await page.keyboard.press("Control+Enter");
    await idle(page);
    assert.equal(await page.locator("#sql-error").count(), 0, `${title}: ${await page.locator("#sql-error").allTextContents()}`);
  }
  await ask(page, "select 'kept' as x");
  await page.reload();
  await settled(page);
  await setState(page, "tab", "query");
  await page.selectOption("select[aria-label=Recent]", {label: "select 'kept' as x"});
  assert.equal(await typed(page), "select 'kept' as x");
  await page.evaluate(() => localStorage.setItem("heddle-queries", "{no list"));
  await page.reload();
  await settled(page);
  await setState(page, "tab", "query");
  await page.waitForSelector("#sql");
});

test("a query and its result stay while another panel is shown", async page => {
  await openQuery(page);
  await ask(page, "select 'kept' as x");
  await page.fill("#sql", "select 'kept' as x -- more");
  await setState(page, "tab", "fidelity");
  await page.waitForSelector("#sql", {state: "detached"});
  await setState(page, "tab", "query");
  assert.equal(await typed(page), "select 'kept' as x -- more");
  assert.deepEqual(await cellsOf(page), [["kept"]]);
  await command(page, "run-query");
  await idle(page);
  assert.deepEqual(await cellsOf(page), [["kept"]]);
});

test("the server takes hostile queries, and says what is wrong", async page => {
  const server = await openQuery(page);
  const post = async (sql, query = "") => {
    const answer = await fetch(new URL(`/api/query?${query}`, server.url), {method: "POST", body: sql});
    return {status: answer.status, body: await answer.json()};
  };
  assert.equal((await post(" ".repeat((1 << 20) + 1))).status, 413);
  assert.ok((await post("(".repeat(1 << 20))).body.error.message);
  assert.ok((await post(`select ${"1,".repeat(9999)}1`)).body.error.message);
  assert.ok((await post(new Uint8Array([0x73, 0xff, 0x00, 0xfe]))).body.error.message);
  assert.equal((await post("select 1", "limit=x")).status, 400);
  assert.equal((await post("select :a", "%3Aa=7")).body.rows[0][0], 7);
  assert.equal((await fetch(new URL("/api/query", server.url))).status, 405);
  assert.ok((await getJson(new URL("/api/query/tables", server.url))).tables.length > 5);
});
