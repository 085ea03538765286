// Draws layers of rectangles into the pixels of a small canvas: for thousands of small rectangles this is far cheaper
// than 2D context calls.
import type { DrawList } from "./list";
import type { Rects } from "./rects";

export class PixelBackend {
  private readonly context: CanvasRenderingContext2D;
  private image: ImageData | null = null;

  constructor(private readonly canvas: HTMLCanvasElement) {
    const found = canvas.getContext("2d", { alpha: false });
    if (!found) throw new Error("this browser has no canvas");
    this.context = found;
  }

  draw(list: DrawList, background: number): void {
    const { canvas } = this;
    if (canvas.width !== list.width || canvas.height !== list.height) {
      canvas.width = list.width;
      canvas.height = list.height;
    }
    if (this.image?.width !== list.width || this.image.height !== list.height) this.image = new ImageData(list.width, list.height);
    const pixels = new Uint32Array(this.image.data.buffer);
    pixels.fill((background | 0xff000000) >>> 0);
    for (const layer of list.layers()) paint(pixels, list.width, list.height, layer, layer === list.hatches ? Math.round(7 * list.ratio) : 0);
    this.context.putImageData(this.image, 0, 0);
  }
}

// `hatch`: draws only stripes, at this period in pixels; 0: solid.
export function paint(pixels: Uint32Array, width: number, height: number, rects: Rects, hatch: number): void {
  const { shorts, words } = rects;
  for (let n = 0; n < rects.count; n++) {
    const left = Math.max(0, shorts[n * 6]);
    const top = Math.max(0, shorts[n * 6 + 1]);
    const right = Math.min(width, shorts[n * 6] + shorts[n * 6 + 2]);
    const bottom = Math.min(height, shorts[n * 6 + 1] + shorts[n * 6 + 3]);
    const tone = words[n * 3 + 2];
    const alpha = tone >>> 24;
    for (let y = top; y < bottom; y++) {
      for (let at = y * width + left, end = y * width + right; at < end; at++) {
        if (hatch > 0 && (at - y * width + y) % hatch > hatch * 0.3) continue;
        pixels[at] = alpha === 255 ? tone : over(pixels[at], tone, alpha);
      }
    }
  }
}

function over(below: number, tone: number, alpha: number): number {
  const part = (shift: number): number => {
    const old = (below >>> shift) & 255;
    return (old + Math.round(((((tone >>> shift) & 255) - old) * alpha) / 255)) << shift;
  };
  return (0xff000000 | part(16) | part(8) | part(0)) >>> 0;
}
