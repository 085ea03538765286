// Builds engine.html: the web UI and the engine in one file that needs no server, which `heddle view --save` puts traces
// into; npm/, the package `heddle-engine`; and engine.mjs, by which tests ask the engine.
//
//   node engine.mjs ENGINE.wasm VERSION OUTDIR
//
// The page is first built in OUTDIR/page. `heddle view --save` replaces the two marks below.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

async function bundle(entry, format, minify = true) {
  const result = await build({
    absWorkingDir: here, entryPoints: [`src/engine/${entry}`], bundle: true, minify, target: "es2022", format, charset: "ascii",
    legalComments: "none", write: false, logLevel: "warning", external: ["node:*"],
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
  `<script id="heddle-page">${inScript(read("page.js"))}</script>`,
  "</body>",
].join("\n"));
writeFileSync(join(out, "engine.html"), html);
writeFileSync(join(out, "engine.mjs"), await bundle("engine.ts", "esm"));

/* ---- npm ---- */

const root = join(here, "../../..");
const npm = join(out, "npm");
rmSync(npm, { recursive: true, force: true });
mkdirSync(npm);
copyFileSync(wasm, join(npm, "engine.wasm"));
copyFileSync(join(root, "LICENSE"), join(npm, "LICENSE"));
cpSync(join(out, "licences"), join(npm, "licences"), { recursive: true });
writeFileSync(join(npm, "index.mjs"), await bundle("npm.ts", "esm", false));
const types = spawnSync(process.execPath, [join(here, "node_modules/typescript/bin/tsc"), "--declaration", "--emitDeclarationOnly", "--strict", "--skipLibCheck",
  "--target", "ES2022", "--module", "ESNext", "--moduleResolution", "bundler", "--lib", "ES2022,DOM,DOM.Iterable",
  "--outDir", join(npm, "types"), join(here, "src/engine/npm.ts")], { stdio: "inherit" });
if (types.status !== 0) process.exit(1);
writeFileSync(join(npm, "package.json"), `${JSON.stringify({
  name: "heddle-engine", version, description: "Reads GPU traces of any profiler, and answers reports and SQL, in Node and browsers",
  license: "Apache-2.0", type: "module", main: "./index.mjs", types: "./types/npm.d.ts",
  exports: { ".": { types: "./types/npm.d.ts", default: "./index.mjs" }, "./engine.wasm": "./engine.wasm" },
  files: ["index.mjs", "engine.wasm", "types", "README.md", "LICENSE", "licences"], engines: { node: ">=18" },
}, null, 2)}\n`);
copyFileSync(join(root, "docs/engine.md"), join(npm, "README.md"));
