import type { App } from "./app";

export function mountSearchBox(_el: HTMLElement, _app: App): void {}
