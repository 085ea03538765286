// The package `heddle-engine` in Node: what docs/engine.md says of it.
//
//   node npm.mjs FOLDER TRACE.json OUT.arrow      the trace, and what reads OUT, is tests/wasm/run.py's
import assert from "node:assert/strict";
import {readFileSync, writeFileSync} from "node:fs";
import {join} from "node:path";
import {pathToFileURL} from "node:url";

const [folder, file, arrow] = process.argv.slice(2);
const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const {Heddle} = await import(pathToFileURL(join(folder, about.exports["."].default)));
const kernels = JSON.parse(readFileSync(file, "utf8")).traceEvents.filter(event => event.cat === "kernel");
const total = kernels.reduce((sum, event) => sum + event.dur * 1000, 0);

const heddle = await Heddle.start();
const trace = heddle.open(readFileSync(file), "rank0.json");
assert.equal(trace.format, "chrome");
const sql = "select count(*), sum(dur) from slice where category = 'kernel'";
assert.deepEqual(heddle.query(sql).rows, [[kernels.length, total]]);
assert.deepEqual(heddle.query("select count(*) from slice where name = :name", {name: "gemm"}).rows, [[134]]);
const report = trace.report("kernels");
const {columns, rows} = report.tables[0];
const at = columns.findIndex(({name}) => name === "total");
assert.equal(rows.reduce((sum, row) => sum + Number(row[at]), 0), total);
assert.ok(heddle.reports().some(({name}) => name === "kernels"));
assert.equal(Buffer.from(heddle.queryParquet("select * from slice").slice(0, 4)).toString(), "PAR1");
const rowsAsArrow = "select id, name, ts, dur, dur / 3.0 as third, case when id % 3 then name end as some from slice order by id";
writeFileSync(arrow, heddle.queryArrow(rowsAsArrow));
writeFileSync(`${arrow}.json`, JSON.stringify(heddle.query(rowsAsArrow).rows));

// A crop of everything has everything; a closed trace is in no answer.
const again = heddle.open(trace.crop("heddle"), "again.heddle");
assert.deepEqual(heddle.query(sql).rows, [[2 * kernels.length, 2 * total]]);
again.close();
assert.deepEqual(heddle.query(sql).rows, [[kernels.length, total]]);

assert.throws(() => heddle.query("select bogus"), /no such column: bogus/);
assert.throws(() => heddle.queryParquet("select bogus"), /no such column: bogus/);
assert.throws(() => heddle.queryArrow("select bogus"), /no such column: bogus/);
assert.throws(() => heddle.open(new TextEncoder().encode("hello"), "hello.json"), /hello\.json: .*no reader knows/);
assert.throws(() => trace.report("nothing"), /no report/);
assert.throws(() => trace.report("kernels", {nothing: "1"}), /has no option 'nothing'/);
console.log(`${about.name} ${about.version} in Node ${process.version}: opened, asked, cropped, closed`);
