import type { App } from "./app";

export function mountPane(_el: HTMLElement, _app: App): void {}
