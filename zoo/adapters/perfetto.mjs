// perfetto.mjs - asks Perfetto's trace_processor SQL about one trace: node perfetto.mjs FOLDER FILE SQL..., a line of JSON each
import fs from "node:fs";
import {Engine} from "../../tests/format/perfetto_engine.mjs";

const [folder, file, ...statements] = process.argv.slice(2);
const engine = new Engine(folder);
await engine.start();
try {
  engine.load(fs.readFileSync(file));
} catch (e) {
  console.log(JSON.stringify({error: e.message}));
  process.exit(0);
}
for (const sql of statements)
  console.log(JSON.stringify({rows: engine.query(sql)}, (_, value) => typeof value === "bigint" ? Number(value) : value));
