// A page with the engine inside, without a server: answers what source_http.ts requests, and opens the traces of the page.
import type { Transport } from "../data/source_http";
import type { Reply, Request } from "./worker";

const NEWS_MS = 20000; // a request that waits for news is answered then, as by the server

declare global {
  interface Window {
    heddleTransport?: Transport;
  }
}

type Answer = Exclude<Reply, { news: true } | { failed: string } | { session: string }>;
type Unsent<T> = T extends unknown ? Omit<T, "id"> : never;

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

class Host implements Transport {
  readonly isLocal = true;
  private readonly worker = new Worker(URL.createObjectURL(new Blob([textOf("heddle-worker")], { type: "text/javascript" })));
  private readonly waiting = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>();
  private readonly readers = new Set<() => void>();
  private readonly watchers = new Set<(session: string) => void>();
  private asked: Promise<string> | null = null; // an answer of api/session that is due
  private last = 0;
  private readonly ready: Promise<void>;

  constructor() {
    this.worker.onmessage = (event: MessageEvent<Reply>) => this.take(event.data);
    this.worker.onerror = (event) => this.failAll(new Error(event.message || "The engine has stopped."));
    this.ready = this.start();
    this.ready.catch((error: unknown) => console.error(error));
  }

  private take(reply: Reply): void {
    if ("news" in reply || "session" in reply) {
      if ("session" in reply) for (const watcher of this.watchers) watcher(reply.session);
      for (const reader of this.readers) reader();
      this.watchers.clear();
      this.readers.clear();
      return;
    }
    const caller = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if ("failed" in reply) caller?.reject(new Error(reply.failed));
    else caller?.resolve(reply);
  }

  private failAll(error: Error): void {
    for (const caller of this.waiting.values()) caller.reject(error);
    this.waiting.clear();
  }

  private call(request: Unsent<Request>, transfer: Transferable[] = []): Promise<Answer> {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, ...request } as Request, transfer);
    });
  }

  private async start(): Promise<void> {
    const module = await unpacked(bytesOf(textOf("heddle-engine")));
    await this.call({ what: "start", module }, [module]);
    for (const element of traces.splice(0)) {
      const file = bytesOf(element.textContent ?? "").buffer; // no Blob: WebKit cannot read one of a file:// page
      await this.call({ what: "open", file, name: element.dataset.name ?? "trace" }, [file]);
    }
  }

  private news(signal?: AbortSignal | null): Promise<void> {
    return new Promise((resolve) => {
      this.readers.add(resolve);
      signal?.addEventListener("abort", () => resolve());
      setTimeout(resolve, NEWS_MS);
    });
  }

  private async ask(url: string, init: RequestInit): Promise<Response> {
    const body = typeof init.body === "string" ? new TextEncoder().encode(init.body) : undefined;
    const answer = await this.call({ what: "ask", method: init.method ?? "GET", uri: `/${url}`, body });
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
    if (!/^api\/session(\?|$)/.test(url)) return this.ask(url, init);
    const after = /[?&]after=(\d+)/.exec(url);
    for (const started = performance.now(); ; ) {
      if (init.signal?.aborted) throw new DOMException("aborted", "AbortError");
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
    return (await this.call({ what: "open", file, name: file.name })).trace ?? -1;
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
