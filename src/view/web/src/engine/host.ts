// A page with the engine inside, without a server: answers what source_http.ts requests, and opens the traces of the page.
import type { Session } from "../data/model";
import type { Transport } from "../data/source_http";
import type { Reply, Request } from "./worker";

const NEWS_MS = 20000; // a request that waits for news is answered then, as by the server
const GRACE_MS = 300; // a query that is cancelled may end by itself so long
const MAKES_TRACKS = /^api\/(lines|(query|report)\/tracks)(\?|$)/;

declare global {
  interface Window {
    heddleTransport?: Transport;
  }
}

type Answer = Exclude<Reply, { news: true } | { failed: string } | { session: string }>;
type Unsent<T> = T extends unknown ? Omit<T, "id"> : never;
interface Caller {
  request: Unsent<Request>;
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

const textOf = (id: string): string => document.getElementById(id)?.textContent ?? "";

// The traces are taken out of the page before it is read as text: what stays is a page to save others into.
const traces = [...document.querySelectorAll<HTMLElement>("script.heddle-trace")];
for (const element of traces) element.remove();
const shell = document.documentElement.outerHTML;

// This page as `make wasm` built it: with the marks that data/save_html.ts replaces. Its last script follows this one.
function engineHtml(): string {
  const marked = shell.replace(/<title>[^<]*<\/title>/, "<title><!--heddle:title-->Heddle</title>")
    .replace(/<script type="text\/plain" id="heddle-engine">/, (start) => `<!--heddle:traces-->\n${start}`)
    .replace(/<\/body>\s*<\/html>\s*$/, "");
  return `<!doctype html>\n${marked}${document.getElementById("heddle-page")?.outerHTML ?? ""}\n</body></html>\n`;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64.trim());
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  return bytes;
}

function unpacked(packed: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

const aborted = (): Error => new DOMException("aborted", "AbortError");

class Host implements Transport {
  readonly isLocal = true;
  private worker = this.newWorker();
  private readonly waiting = new Map<number, Caller>();
  private readonly dropped = new Map<number, ReturnType<typeof setTimeout>>(); // cancelled queries that may still run
  private readonly readers = new Set<() => void>();
  private readonly watchers = new Set<(session: string) => void>();
  private readonly files: ({ file: Blob | ArrayBuffer; name: string; memory?: number } | null)[] = []; // by trace; null: it is closed
  private readonly made: Unsent<Request>[] = []; // requests that made tracks
  private asked: Promise<string> | null = null; // an answer of api/session that is due
  private last = 0;
  private isReady = false;
  private ready: Promise<void>;

  constructor() {
    for (const element of traces.splice(0)) {
      // No Blob: WebKit cannot read one of a file:// page.
      this.files.push({ file: bytesOf(element.textContent ?? "").buffer, name: element.dataset.name ?? "trace" });
    }
    this.ready = this.start().then(() => { this.isReady = true; });
    this.ready.catch((error: unknown) => console.error(error));
  }

  private newWorker(): Worker {
    const worker = new Worker(URL.createObjectURL(new Blob([textOf("heddle-worker")], { type: "text/javascript" })));
    worker.onmessage = (event: MessageEvent<Reply>) => this.take(event.data);
    worker.onerror = (event) => this.failAll(new Error(event.message || "The engine has stopped."));
    return worker;
  }

  private take(reply: Reply): void {
    if ("news" in reply || "session" in reply) {
      for (const reader of this.readers) reader();
      this.readers.clear();
      if (!this.isReady) return;
      if ("session" in reply) for (const watcher of this.watchers) watcher(reply.session);
      this.watchers.clear();
      return;
    }
    const caller = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    clearTimeout(this.dropped.get(reply.id));
    this.dropped.delete(reply.id);
    if ("failed" in reply) caller?.reject(new Error(reply.failed));
    else caller?.resolve(reply);
  }

  private failAll(error: Error): void {
    for (const caller of this.waiting.values()) caller.reject(error);
    this.waiting.clear();
  }

  private send(caller: Caller, transfer: Transferable[] = []): number {
    this.waiting.set(++this.last, caller);
    this.worker.postMessage({ id: this.last, ...caller.request } as Request, transfer);
    return this.last;
  }

  private call(request: Unsent<Request>, transfer: Transferable[] = []): Promise<Answer> {
    return new Promise((resolve, reject) => this.send({ request, resolve, reject }, transfer));
  }

  private async start(): Promise<void> {
    const module = await unpacked(bytesOf(textOf("heddle-engine")));
    await this.call({ what: "start", module }, [module]);
    // A trace that is closed keeps its number: no file takes its place, which reopen closes.
    for (const each of this.files) await this.call({ what: "open", ...(each ?? { file: new ArrayBuffer(0), name: "" }) });
  }

  // ---- another Worker: after a query that was cancelled, or with less of a trace ----

  // A Worker that runs a query takes no message. Another one opens the same traces, makes the same tracks, and then gets
  // the requests that the first did not answer: the page sees a session of another name, and traces that are ready.
  private restart(): void {
    const left = [...this.waiting.values()];
    for (const timer of this.dropped.values()) clearTimeout(timer);
    this.dropped.clear();
    this.waiting.clear();
    this.worker.terminate();
    this.worker = this.newWorker();
    this.isReady = false;
    this.ready = this.reopen().then(() => {
      this.isReady = true;
      for (const caller of left) this.send(caller);
    });
    this.ready.catch((error: Error) => { for (const caller of left) caller.reject(error); });
  }

  private async reopen(): Promise<void> {
    await this.start();
    for (;;) {
      const news = this.news();
      const { body } = await this.call({ what: "ask", method: "GET", uri: "/api/session" });
      const { traces } = JSON.parse(new TextDecoder().decode(body)) as Session;
      if (traces.every(({ state, busy }) => state !== "reading" && busy === "")) break;
      await news;
    }
    for (const [trace, each] of this.files.entries()) {
      if (!each) await this.call({ what: "ask", method: "POST", uri: `/api/close?trace=${trace}` });
    }
    for (const request of this.made) await this.call(request);
  }

  // What a later Worker must know of a request that was answered.
  private remember(url: string, request: Unsent<Request>): void {
    const closed = /^api\/close\?trace=(\d+)$/.exec(url);
    if (closed) this.files[Number(closed[1])] = null;
    if (MAKES_TRACKS.test(url)) this.made.push(request);
  }

  // ---- requests ----

  private news(signal?: AbortSignal | null): Promise<void> {
    return new Promise((resolve) => {
      this.readers.add(resolve);
      signal?.addEventListener("abort", () => resolve());
      setTimeout(resolve, NEWS_MS);
    });
  }

  // An aborted request is not waited for; a query is ended, with its Worker.
  private asking(url: string, request: Unsent<Request>, signal?: AbortSignal | null): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const id = this.send({ request, resolve, reject });
      signal?.addEventListener("abort", () => {
        reject(aborted());
        if (this.waiting.delete(id) && /^api\/query(\?|$)/.test(url)) this.dropped.set(id, setTimeout(() => this.restart(), GRACE_MS));
      });
    });
  }

  private async ask(url: string, init: RequestInit): Promise<Response> {
    const body = typeof init.body === "string" ? new TextEncoder().encode(init.body) : undefined;
    const request: Unsent<Request> = { what: "ask", method: init.method ?? "GET", uri: `/${url}`, body };
    const answer = await this.asking(url, request, init.signal);
    if (answer.status === 200) this.remember(url, request);
    return new Response(answer.body, { status: answer.status, headers: { "Content-Type": answer.type ?? "", "X-Name": encodeURIComponent(answer.name ?? "") } });
  }

  // While the Worker is in a step, which may read a file for long, it does not answer, but sends each new answer itself.
  private session(url: string, init: RequestInit): Promise<string> {
    this.asked ??= this.ask(url, init).then((answer) => answer.text()).finally(() => { this.asked = null; });
    return Promise.race([this.asked, new Promise<string>((resolve) => this.watchers.add(resolve))]);
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    if (url === "api/engine") return new Response(engineHtml());
    await this.ready;
    if (init.signal?.aborted) throw aborted();
    if (!/^api\/session(\?|$)/.test(url)) return this.ask(url, init);
    const after = /[?&]after=(\d+)/.exec(url);
    for (const started = performance.now(); ; ) {
      await this.ready;
      if (init.signal?.aborted) throw aborted();
      const news = this.news(init.signal);
      const session = await this.session(url, init);
      const { revision } = JSON.parse(session) as { revision?: number };
      if (!after || revision !== Number(after[1]) || performance.now() - started >= NEWS_MS) return new Response(session);
      await news;
    }
  }

  async upload(url: string, file: File, progress: (done: number, total: number) => void): Promise<number> {
    await this.ready;
    progress(file.size, file.size); // nothing is sent: the Worker reads it where it is
    const { trace = -1 } = await this.call({ what: "open", file, name: file.name });
    if (trace >= 0) this.files[trace] = { file, name: file.name };
    return trace;
  }

  async openHead(trace: number, memory: number): Promise<void> {
    const file = this.files[trace];
    if (!file) return;
    this.files[trace] = { ...file, memory };
    this.restart();
    await this.ready;
  }

  async download(url: string): Promise<void> {
    const response = await this.fetch(url, {});
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = decodeURIComponent(response.headers.get("X-Name") ?? "") || "trace";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }
}

const host = new Host();
window.heddleTransport = host;

// Links to crops are answered by the engine as well.
addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[download]") : null;
  const address = link?.getAttribute("href") ?? "";
  if (!address.startsWith("api/")) return;
  event.preventDefault();
  void host.download(address);
}, true);
