// The engine in a Worker: answers messages, and works between them.
import { Engine } from "./engine";

export type Request =
  | { id: number; what: "start"; module: ArrayBuffer }
  | { id: number; what: "open"; file: Blob | ArrayBuffer; name: string; memory?: number }
  | { id: number; what: "ask"; method: string; uri: string; body?: Uint8Array };
export type Reply =
  | { id: number; failed: string }
  | { id: number; trace?: number; status?: number; type?: string; name?: string; body?: Uint8Array<ArrayBuffer> }
  | { news: true }
  | { session: string }; // the answer of api/session, during a step

// Of a Worker's interface, which TypeScript does not know along with that of pages.
declare const self: {
  onmessage: (event: MessageEvent<Request>) => void;
  postMessage(reply: Reply, transfer?: Transferable[]): void;
};

let engine: Engine | null = null;
let working = false;

// Between two steps messages that wait come first: a port's message is a task like them.
const next = new MessageChannel();
next.port1.onmessage = () => {
  try {
    working = engine?.step() ?? false;
  } catch (error) {
    working = false;
    console.error(error);
  }
  self.postMessage({ news: true } satisfies Reply);
  if (working) next.port2.postMessage(0);
};

function work(): void {
  if (working) return;
  working = true;
  next.port2.postMessage(0);
}

async function answer(request: Request): Promise<Omit<Exclude<Reply, { news: true } | { session: string }>, "id">> {
  if (request.what === "start") {
    engine = await Engine.start(request.module, (text) => console.warn(text), (session) => self.postMessage({ session } satisfies Reply));
    return {};
  }
  if (!engine) throw new Error("The engine has not started.");
  if (request.what === "open") {
    const trace = engine.open(request.file instanceof ArrayBuffer ? new Uint8Array(request.file) : request.file, request.name, request.memory);
    work();
    return { trace };
  }
  return engine.ask(request.method, request.uri, request.body);
}

self.onmessage = async (event: MessageEvent<Request>) => {
  const { id } = event.data;
  try {
    const reply = await answer(event.data);
    const body = "body" in reply ? (reply.body as Uint8Array<ArrayBuffer>) : null;
    self.postMessage({ id, ...reply } as Reply, body ? [body.buffer] : []);
  } catch (error) {
    self.postMessage({ id, failed: error instanceof Error ? error.message : String(error) } satisfies Reply);
  }
};
