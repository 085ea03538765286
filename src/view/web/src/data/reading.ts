// Texts about traces that are not ready: reading progress, or the reason of a failure.
import { effect, signal } from "@preact/signals";
import type { App } from "../app";
import { formatBytes } from "../format";
import { say } from "../tools/select_actions";
import type { TraceId, TraceInfo } from "./model";
import { messageOf } from "./request";

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

const ENGINE_BYTES = 32 * 2 ** 20; // what the engine takes without events, while it reads
const SHARE = 0.75; // of the other memory, for the events that are opened of a trace

// A page with the engine has the memory of its tab only.
function advice(trace: TraceInfo): string {
  if (!trace.memory) return "";
  const { here, needed } = trace.memory;
  const estimate = needed ? `, and the trace needs about ${formatBytes(needed)} (estimated)` : "";
  return `${partOf(trace)}: this page has ${formatBytes(here)}${estimate}. heddle view ${trace.name} has no such limit, `
    + `and heddle convert --until 10s ${trace.name} start.heddle makes a store of a part that fits.`;
}

// Null: nothing to report.
export function readingOf(trace: TraceInfo): Reading | null {
  if (trace.state === "failed" || (trace.error && trace.busy === "")) {
    return { name: trace.name, text: `${trace.error || "could not be read"}${advice(trace)}`, share: null, failed: true };
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

// The first seconds of a trace whose end does not matter for them: the engine finds how many fit.
function headButton(app: App, trace: TraceInfo, memory: number): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Open its first seconds, as many as fit";
  button.addEventListener("click", () => {
    say(app, `${trace.name}: its first seconds are being read …`);
    app.source.openHead(trace.id, memory).then(() => say(app, ""), (error: unknown) => say(app, messageOf(error), true));
  });
  return button;
}

export function attachReading(app: App, parent: HTMLElement): void {
  const list = document.createElement("div");
  list.className = "reading";
  parent.append(list);
  effect(() => {
    const session = app.state.session.value;
    const cards: HTMLElement[] = [];
    for (const trace of session?.traces ?? []) {
      const reading = readingOf(trace);
      if (!reading || (reading.failed && !showsFailure(trace))) continue;
      const element = card(reading);
      if (reading.failed) {
        const close = document.createElement("button");
        close.type = "button";
        close.textContent = "Close";
        close.addEventListener("click", () => { closed.value = new Set(closed.peek()).add(trace.id); });
        element.setAttribute("role", "alert");
        if (trace.memory?.head) element.append(headButton(app, trace, (trace.memory.here - ENGINE_BYTES) * SHARE));
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
