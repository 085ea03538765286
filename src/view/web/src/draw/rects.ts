// Rectangles of whole device pixels in one buffer: x, y, width, height as int16, then red, green, blue, alpha. The
// buffer is reused for each frame and grows as needed; the graphics card gets it as corners.

const RECT_BYTES = 12;

export class Rects {
  count = 0;
  shorts: Int16Array; // 6 a rectangle: x, y, w, h, then the colour
  words: Uint32Array; // 3 a rectangle: the third is the colour, 0xAABBGGRR
  private room: number;

  constructor(room = 1024) {
    this.room = room;
    const buffer = new ArrayBuffer(room * RECT_BYTES);
    this.shorts = new Int16Array(buffer);
    this.words = new Uint32Array(buffer);
  }

  clear(): void {
    this.count = 0;
  }

  add(x: number, y: number, w: number, h: number, rgba: number): void {
    if (this.count === this.room) this.grow();
    const n = this.count++;
    const s = n * 6;
    this.shorts[s] = x;
    this.shorts[s + 1] = y;
    this.shorts[s + 2] = w;
    this.shorts[s + 3] = h;
    this.words[n * 3 + 2] = rgba;
  }

  // The four edges, inside; the part of them in [0, width).
  outline(x: number, y: number, w: number, h: number, thick: number, rgba: number, width: number): void {
    const left = Math.max(x, -thick);
    const right = Math.min(x + w, width + thick);
    if (right <= left) return;
    this.add(left, y, right - left, thick, rgba);
    this.add(left, y + h - thick, right - left, thick, rgba);
    if (x >= -thick) this.add(x, y + thick, thick, h - 2 * thick, rgba);
    if (x + w <= width + thick) this.add(x + w - thick, y + thick, thick, h - 2 * thick, rgba);
  }

  private grow(): void {
    this.room *= 2;
    const buffer = new ArrayBuffer(this.room * RECT_BYTES);
    const words = new Uint32Array(buffer);
    words.set(this.words);
    this.shorts = new Int16Array(buffer);
    this.words = words;
  }
}

// Writes the corners of the rectangles from out[at] on, in the form of the vertex buffer: x and y as int16, then the
// colour, eight words per rectangle. Returns the index after them. (Low halves of words are first: no browser is big
// endian.)
export function corners(out: Uint32Array, at: number, rects: Rects): number {
  const { words, count } = rects;
  for (let n = 0; n < count; n++) {
    const place = words[n * 3];
    const size = words[n * 3 + 1];
    const tone = words[n * 3 + 2];
    const left = place & 0xffff;
    const right = (left + size) & 0xffff;
    const top = place & 0xffff0000;
    const bottom = (top + (size & 0xffff0000)) & 0xffff0000;
    out[at] = place;
    out[at + 1] = tone;
    out[at + 2] = top | right;
    out[at + 3] = tone;
    out[at + 4] = bottom | left;
    out[at + 5] = tone;
    out[at + 6] = bottom | right;
    out[at + 7] = tone;
    at += 8;
  }
  return at;
}
