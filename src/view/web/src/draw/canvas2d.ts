// Draws layers of rectangles with a 2D context, where there is no WebGL2. The same list gives the same picture.
import { css } from "./color";
import type { DrawList } from "./list";
import type { Rects } from "./rects";
import type { Backend } from "./webgl";

export class Canvas2dBackend implements Backend {
  readonly name = "canvas2d";
  private readonly context: CanvasRenderingContext2D;
  private readonly styles = new Map<number, string>();
  private pattern: { tone: number; size: number; fill: CanvasPattern | null } | null = null;

  constructor(private readonly canvas: HTMLCanvasElement) {
    const found = canvas.getContext("2d", { alpha: false });
    if (!found) throw new Error("this browser has no canvas");
    this.context = found;
  }

  draw(list: DrawList, background: number): void {
    const { canvas, context } = this;
    if (canvas.width !== list.width || canvas.height !== list.height) {
      canvas.width = list.width;
      canvas.height = list.height;
    }
    context.fillStyle = this.style(background);
    context.fillRect(0, 0, list.width, list.height);
    for (const layer of list.layers()) this.layer(layer, layer === list.hatches ? 7 * list.ratio : 0);
  }

  private layer(layer: Rects, hatch: number): void {
    const { context } = this;
    let tone = -1;
    for (let n = 0; n < layer.count; n++) {
      const rgba = layer.words[n * 3 + 2];
      if (rgba !== tone) context.fillStyle = hatch > 0 ? this.hatched(rgba, Math.round(hatch)) : this.style(rgba);
      tone = rgba;
      context.fillRect(layer.shorts[n * 6], layer.shorts[n * 6 + 1], layer.shorts[n * 6 + 2], layer.shorts[n * 6 + 3]);
    }
  }

  private style(rgba: number): string {
    let style = this.styles.get(rgba);
    if (!style) {
      if (this.styles.size > 4096) this.styles.clear();
      this.styles.set(rgba, (style = css(rgba)));
    }
    return style;
  }

  private hatched(rgba: number, size: number): CanvasPattern | string {
    if (!this.pattern || this.pattern.tone !== rgba || this.pattern.size !== size) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = size;
      const context = tile.getContext("2d");
      if (context) {
        context.strokeStyle = css(rgba);
        context.lineWidth = size / 5;
        context.beginPath();
        for (const shift of [-size, 0, size]) {
          context.moveTo(shift, size);
          context.lineTo(shift + size, 0);
        }
        context.stroke();
      }
      this.pattern = { tone: rgba, size, fill: this.context.createPattern(tile, "repeat") };
    }
    return this.pattern.fill ?? css(rgba);
  }
}
