import type { App } from "./app";

export function attachInput(_canvas: HTMLCanvasElement, _app: App): void {}
