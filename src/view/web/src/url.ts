import type { App } from "./app";

export function attachUrl(_app: App): void {}
