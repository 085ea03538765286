// site.mjs - the site of `make site` in Debian's own Chromium, as files: no server, no network
//   node site.mjs CHROMIUM SITE
import assert from "node:assert/strict";
import {pathToFileURL} from "node:url";
import {runTests} from "../web/browser.mjs";

const [program, site] = process.argv.slice(2);
const at = name => pathToFileURL(`${site}/${name}`).href;
const tests = [];
const test = (name, body, options = {}) => tests.push({name, body, options});

const search = async (page, words) => {
  await page.goto(at("index.html"));
  await page.fill(".md-search__input", words);
  await page.waitForSelector(".md-search-result__item a");
  return page.$$eval(".md-search-result__item a", links => links.map(link => link.href));
};

for (const [words, where] of [["exposed communication", "reports/communication.html"], ["pickle", "python.html"], ["hd_builder_finish", "include/heddle/"]]) {
  test(`the search finds "${words}"`, async page => {
    const found = await search(page, words);
    assert.ok(found.some(link => link.includes(where)), found.join("\n"));
    await page.click(`.md-search-result__item a[href*="${where}"]`);
    await page.waitForURL(url => url.href.includes(where));
  });
}

// A wide table or a block of code scrolls by itself, and the page does not.
for (const name of ["index.html", "tutorial.html", "reports/definitions.html", "formats/chrome.html", "commands.html", "gallery.html", "source/index.html"]) {
  test(`${name} at 420 px`, async page => {
    await page.setViewportSize({width: 420, height: 800});
    await page.goto(at(name));
    const {width, text} = await page.evaluate(() => ({width: document.documentElement.scrollWidth,
      text: Math.min(...[...document.querySelectorAll("article p, article li, article td, article code")].map(e => parseFloat(getComputedStyle(e).fontSize)))}));
    assert.ok(width <= 420, `${width} px wide`);
    assert.ok(text >= 11, `text of ${text} px`);
  });
}

// The contrast of text, by WCAG: 4.5 and more reads well.
const contrast = page => page.evaluate(() => {
  const luminance = color => {
    const [r, g, b] = color.match(/[\d.]+/g).map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d", {willReadFrequently: true});
  const mixed = (...colors) => { for (canvas.fillStyle of colors) canvas.fillRect(0, 0, 1, 1); return `${canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)}`; };
  const back = getComputedStyle(document.body).backgroundColor, text = getComputedStyle(document.querySelector("article p")).color;
  const [a, b] = [luminance(mixed("#fff", back)), luminance(mixed("#fff", back, text))];
  return {back: a, ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)};
});
test("light and dark, as the system says", async page => {
  const seen = {};
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({colorScheme});
    await page.goto(at("concepts.html"));
    seen[colorScheme] = await contrast(page);
    assert.ok(seen[colorScheme].ratio >= 4.5, JSON.stringify(seen));
  }
  assert.ok(seen.light.back > 0.8 && seen.dark.back < 0.1, JSON.stringify(seen));
}, {context: {}});

process.exit(await runTests(tests, {program, allowed: url => /^(file|data|blob|about):/.test(url)}) ? 0 : 1);
