// Types of the page, as a test: exits with 77 where the modules are not installed.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const tsc = join(here, "node_modules", "typescript", "bin", "tsc");
if (!existsSync(tsc)) {
  console.log("skipped: src/view/web/node_modules is not there; tools/setup.sh sees to it");
  process.exit(77);
}
process.exit(spawnSync(process.execPath, [tsc, "--noEmit", "-p", here], { stdio: "inherit" }).status ?? 1);
