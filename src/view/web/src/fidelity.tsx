import type { App } from "./app";

export function mountFidelity(_el: HTMLElement, _app: App): void {}
