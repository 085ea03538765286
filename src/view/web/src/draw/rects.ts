// Rectangles of whole device pixels in one buffer: x, y, width, height as int16, then red, green, blue, alpha. The
// buffer is what goes to the graphics card; it is used again for each frame and grows as needed.

export const RECT_BYTES = 12;

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

  // The four edges, inside; as much of them as lies in [0, width).
  outline(x: number, y: number, w: number, h: number, thick: number, rgba: number, width: number): void {
    const left = Math.max(x, -thick);
    const right = Math.min(x + w, width + thick);
    if (right <= left) return;
    this.add(left, y, right - left, thick, rgba);
    this.add(left, y + h - thick, right - left, thick, rgba);
    if (x >= -thick) this.add(x, y + thick, thick, h - 2 * thick, rgba);
    if (x + w <= width + thick) this.add(x + w - thick, y + thick, thick, h - 2 * thick, rgba);
  }

  bytes(): Uint8Array {
    return new Uint8Array(this.shorts.buffer, 0, this.count * RECT_BYTES);
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
