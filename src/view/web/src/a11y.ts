import type { App } from "./app";

export function attachA11y(_app: App): void {}
