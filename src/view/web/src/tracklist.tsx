import type { App } from "./app";

export function mountTrackList(_el: HTMLElement, _app: App): void {}
