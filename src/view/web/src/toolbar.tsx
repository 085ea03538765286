import type { App } from "./app";

export function mountToolbar(_el: HTMLElement, _app: App): void {}
