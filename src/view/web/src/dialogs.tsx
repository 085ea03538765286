import type { App } from "./app";

export function mountDialogs(_el: HTMLElement, _app: App): void {}
