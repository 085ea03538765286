// page_tests.mjs - runs scripts of tests of the page, one after another in one browser: page_NAME.test.mjs registers its tests
// when it is imported
//
// usage: node page_tests.mjs CHROMIUM DIR HEDDLE SCRIPT[,SCRIPT...] [NAME...], which run.py calls
import {run, scripts} from "../page.mjs";

for (const script of scripts) await import(`./${script}.test.mjs`);
await run();
