// Builds engine.html: the web UI and the engine in one file that needs no server, which `heddle view --save` puts traces
// into; and engine.mjs, by which Node uses the engine.
//
//   node engine.mjs ENGINE.wasm VERSION OUTDIR
//
// The page is first built in OUTDIR/page. `heddle view --save` replaces the two marks below.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const TITLE = "<!--heddle:title-->";
const TRACES = "<!--heddle:traces-->";
// It loads nothing, and nothing can leave it.
const POLICY = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:; style-src 'unsafe-inline'; " +
  "img-src data: blob:; base-uri 'none'; form-action 'none'";

const here = dirname(fileURLToPath(import.meta.url));
const [wasm, version, out] = process.argv.slice(2);
const page = join(out, "page");
mkdirSync(out, { recursive: true });
if (spawnSync(process.execPath, [join(here, "build.mjs"), page], { stdio: ["ignore", "ignore", "inherit"] }).status !== 0) process.exit(1);

async function bundle(entry, format) {
  const result = await build({
    absWorkingDir: here, entryPoints: [`src/engine/${entry}`], bundle: true, minify: true, target: "es2022", format, charset: "ascii",
    legalComments: "none", write: false, logLevel: "warning",
  });
  return result.outputFiles[0].text;
}

const read = (name) => readFileSync(join(page, name), "utf8");
const inScript = (code) => code.replace(/<(\/script|!--)/gi, "\\x3c$1");
const script = (code) => `<script>${inScript(code)}</script>`;
const plain = (id, text) => `<script type="text/plain" id="${id}">${text}</script>`;

// Exactly one of each is there; a function keeps "$" of the new text as it is.
function replaced(text, pattern, by) {
  if (!pattern.test(text)) throw new Error(`index.html has no ${pattern}`);
  return text.replace(pattern, () => by);
}

let html = read("index.html");
html = replaced(html, /<meta charset="utf-8">/, `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${POLICY}">\n<meta name="heddle-version" content="${version}">`);
html = replaced(html, /<title>Heddle<\/title>/, `<title>${TITLE}Heddle</title>`);
html = replaced(html, /<link rel="icon"[^>]*>/, `<link rel="icon" href="data:image/svg+xml;base64,${Buffer.from(read("icon.svg")).toString("base64")}">`);
html = replaced(html, /<link rel="stylesheet"[^>]*>/, `<style>${read("page.css").replace(/<\/style/gi, "\\3c/style")}</style>`);
html = replaced(html, /<link rel="preload"[^>]*>\n/, "");
html = replaced(html, /<script src="page.js" defer><\/script>\n/, "");
html = replaced(html, /All of it comes from this server; nothing is asked for elsewhere\./, "All of it is in this file; nothing is loaded or sent.");
const module = gzipSync(readFileSync(wasm), { level: 9 });
html = replaced(html, /<\/body>/, [
  TRACES,
  plain("heddle-engine", module.toString("base64")),
  plain("heddle-worker", inScript(await bundle("worker.ts", "iife"))),
  script(await bundle("host.ts", "iife")),
  script(read("page.js")),
  "</body>",
].join("\n"));
writeFileSync(join(out, "engine.html"), html);
writeFileSync(join(out, "engine.mjs"), await bundle("engine.ts", "esm"));
