// Texts about traces that are not ready: reading progress, or the reason of a failure.
import { effect, signal } from "@preact/signals";
import type { App } from "../app";
import { formatBytes } from "../format";
import type { TraceId, TraceInfo } from "./model";

interface Reading {
  name: string;
  text: string;
  share: number | null; // null: unknown
  failed: boolean;
}

// The error of a file is shown in the page that opened it, and of a file of the command line in each, until it is closed.
const [own, closed] = [signal<ReadonlySet<TraceId>>(new Set()), signal<ReadonlySet<TraceId>>(new Set())];

export function openedHere(trace: TraceId): void {
  own.value = new Set(own.peek()).add(trace);
}

export const showsFailure = (trace: TraceInfo): boolean => !closed.value.has(trace.id) && (!trace.asked || own.value.has(trace.id));

const partOf = (trace: TraceInfo): string => (trace.done < trace.total ? ` after ${formatBytes(trace.done)} of ${formatBytes(trace.total)}` : "");

// A page with the engine has the memory of its tab only.
const advice = (trace: TraceInfo, isLocal: boolean): string =>
  isLocal && trace.error?.endsWith("out of memory")
    ? `${partOf(trace)}: a browser gives a page 4 GB. heddle view ${trace.name} has no such limit, and heddle convert --until 10s ${trace.name} start.heddle makes a part that fits.` : "";

// Null: nothing to report.
export function readingOf(trace: TraceInfo, isLocal: boolean): Reading | null {
  if (trace.state === "failed" || (trace.error && trace.busy === "")) {
    return { name: trace.name, text: `${trace.error || "could not be read"}${advice(trace, isLocal)}`, share: null, failed: true };
  }
  if (trace.state !== "reading") return null;
  const share = trace.total > 0 ? Math.max(0, Math.min(1, trace.done / trace.total)) : null;
  const text = share === null ? `${formatBytes(trace.done)} read`
    : `${formatBytes(trace.done)} of ${formatBytes(trace.total)} read, ${Math.floor(share * 100)} %`;
  return { name: trace.name, text, share, failed: false };
}

function card(reading: Reading): HTMLElement {
  const element = document.createElement("div");
  element.className = reading.failed ? "reading-card failed" : "reading-card";
  const name = document.createElement("strong");
  name.textContent = reading.name;
  const text = document.createElement("span");
  text.textContent = reading.text;
  element.append(name, text);
  if (!reading.failed) {
    const bar = document.createElement("progress");
    bar.setAttribute("aria-label", `Reading ${reading.name}`);
    if (reading.share !== null) bar.value = reading.share;
    element.append(bar);
  }
  return element;
}

export function attachReading(app: App, parent: HTMLElement): void {
  const list = document.createElement("div");
  list.className = "reading";
  parent.append(list);
  effect(() => {
    const session = app.state.session.value;
    const cards: HTMLElement[] = [];
    for (const trace of session?.traces ?? []) {
      const reading = readingOf(trace, app.source.isLocal);
      if (!reading || (reading.failed && !showsFailure(trace))) continue;
      const element = card(reading);
      if (reading.failed) {
        const close = document.createElement("button");
        close.type = "button";
        close.textContent = "Close";
        close.addEventListener("click", () => { closed.value = new Set(closed.peek()).add(trace.id); });
        element.setAttribute("role", "alert");
        element.append(close);
      }
      cards.push(element);
    }
    if (!session) {
      const waiting = document.createElement("div");
      waiting.className = "reading-card";
      waiting.textContent = "Waiting for the trace…";
      cards.push(waiting);
    }
    list.replaceChildren(...cards);
  });
}
