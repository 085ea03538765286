// The canvases of the page and the frame in which they are drawn.
import { effect, type ReadonlySignal } from "@preact/signals";
import type { App } from "../app";
import type { DrawnFlow } from "../flows";

export class View {
  readonly canvas: HTMLCanvasElement; // on top: has the texts, and takes the pointer
  flows: ReadonlySignal<DrawnFlow[]> | null = null;
  private asked = false;
  private readonly times: number[] = [];

  constructor(
    private readonly app: App,
    tracks: HTMLElement,
    _axis: HTMLElement,
    _overview: HTMLElement,
  ) {
    this.canvas = document.createElement("canvas");
    tracks.append(this.canvas);
  }

  redraw(): void {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      const before = performance.now();
      this.times.push(performance.now() - before);
    });
  }

  // Draws whenever something changed that can be seen.
  follow(): void {
    effect(() => {
      void this.app.state.range.value;
      this.redraw();
    });
  }

  frames(): number[] {
    return [...this.times];
  }

  summary(): { rects: number } {
    return { rects: 0 };
  }
}
