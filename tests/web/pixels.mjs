// pixels.mjs - what stands on the screen: screenshots as pixels
import assert from "node:assert/strict";
import zlib from "node:zlib";

// A PNG of 8 bits a channel, RGB or RGBA: {width, height, data} with four bytes a pixel.
export function readPng(png) {
  assert.equal(png.readUInt32BE(0), 0x89504e47, "a PNG");
  let at = 8, header = null;
  const parts = [];
  while (at < png.length) {
    const size = png.readUInt32BE(at), type = png.toString("latin1", at + 4, at + 8), body = png.subarray(at + 8, at + 8 + size);
    if (type === "IHDR") header = {width: body.readUInt32BE(0), height: body.readUInt32BE(4), depth: body[8], color: body[9], interlaced: body[12]};
    if (type === "IDAT") parts.push(body);
    at += size + 12;
  }
  const {width, height, depth, color, interlaced} = header;
  assert.ok(depth === 8 && (color === 2 || color === 6) && !interlaced, JSON.stringify(header));
  const bytes = color === 6 ? 4 : 3, line = width * bytes, raw = zlib.inflateSync(Buffer.concat(parts));
  const data = Buffer.alloc(width * height * 4, 255);
  let above = Buffer.alloc(line);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (line + 1)], row = Buffer.from(raw.subarray(y * (line + 1) + 1, (y + 1) * (line + 1)));
    unfilter(filter, row, above, bytes);
    for (let x = 0; x < width; x++) row.copy(data, (y * width + x) * 4, x * bytes, (x + 1) * bytes);
    above = row;
  }
  return {width, height, data};
}

function unfilter(filter, row, above, bytes) {
  for (let k = 0; k < row.length; k++) {
    const left = k >= bytes ? row[k - bytes] : 0, up = above[k], corner = k >= bytes ? above[k - bytes] : 0;
    let guess = 0;
    if (filter === 1) guess = left;
    else if (filter === 2) guess = up;
    else if (filter === 3) guess = (left + up) >> 1;
    else if (filter === 4) {
      const p = left + up - corner, a = Math.abs(p - left), b = Math.abs(p - up), c = Math.abs(p - corner);
      guess = a <= b && a <= c ? left : b <= c ? up : corner;
    }
    row[k] = (row[k] + guess) & 255;
  }
}

// The pixels of a part of the window ({x, y, width, height} in CSS px), without it of the tracks.
export async function pixelsOf(page, clip) {
  clip ??= await page.evaluate(() => {
    const {x, y, width, height} = document.querySelector("#tracks").getBoundingClientRect();
    return {x, y, width, height};
  });
  return readPng(await page.screenshot({clip, animations: "disabled", caret: "hide"}));
}

export const pixelAt = ({width, data}, x, y) => [...data.subarray((y * width + x) * 4, (y * width + x) * 4 + 3)];

const apart = (a, b) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) + Math.abs(a[2] - b[2]);

// Of each pixel column how high the bar is that stands on the bottom line of the picture; the top line of the picture is
// what the ground looks like (with grid lines, where there are any).
export function barHeights(picture) {
  const {width, height} = picture, heights = [];
  for (let x = 0; x < width; x++) {
    const ground = pixelAt(picture, x, 0);
    let y = 1;
    while (y < height && apart(pixelAt(picture, x, y), ground) <= 12) y++;
    // The topmost pixel of a bar is as strong as it is covered; alone, nothing tells its colour.
    const strong = y < height - 1 ? apart(pixelAt(picture, x, y + 1), ground) : 0;
    const part = y >= height ? 1 : strong > 0 ? Math.min(1, apart(pixelAt(picture, x, y), ground) / strong) : 0.5;
    heights.push(height - y - 1 + part);
  }
  return heights;
}

// WCAG 2 contrast of two colours.
export function contrast(a, b) {
  const light = c => {
    const [r, g, bl] = c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
  };
  const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}
