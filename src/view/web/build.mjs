// Builds the web UI: index.html, page.js and page.css in a folder, small enough for a slow connection.
//
//   node build.mjs OUTDIR [--debug] [--depfile FILE]
//
// --debug: names kept, with a source map; --depfile: the list of inputs, for ninja.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const LIMIT = 300 * 1000; // bytes, gzipped, of all files together
const here = dirname(fileURLToPath(import.meta.url));
const args = process.argv.slice(2);
const debug = args.includes("--debug");
const depfileAt = args.indexOf("--depfile");
const depfile = depfileAt < 0 ? null : args[depfileAt + 1];
const out = args.find((arg, k) => !arg.startsWith("--") && (depfileAt < 0 || k !== depfileAt + 1)) ?? join(here, "dist");

mkdirSync(out, { recursive: true });
const result = await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.ts" },
  bundle: true,
  minify: !debug,
  sourcemap: debug ? "inline" : false,
  target: "es2020",
  format: "iife",
  charset: "ascii", // the C compiler, and a server that forgets a charset, see ASCII
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: resolve(out),
  metafile: true,
  logLevel: "warning",
});
for (const name of ["index.html", "icon.svg"]) copyFileSync(join(here, name), join(out, name));

if (depfile) {
  const inputs = [...Object.keys(result.metafile.inputs), "index.html", "icon.svg"].map((path) => join(here, path));
  writeFileSync(depfile, `${join(out, "index.html")}: ${inputs.map((path) => path.replace(/[ #$]/g, "\\$&")).join(" ")}\n`);
}

let total = 0;
for (const name of ["index.html", "icon.svg", "page.js", "page.css"]) {
  const data = readFileSync(join(out, name));
  const packed = gzipSync(data, { level: 9 }).length;
  total += packed;
  console.log(`${name}: ${data.length} bytes, ${packed} gzipped`);
}
console.log(`page: ${total} bytes gzipped, ${LIMIT} allowed`);
if (total > LIMIT && !debug) {
  console.error(`build.mjs: the page is too large`);
  process.exit(1);
}
