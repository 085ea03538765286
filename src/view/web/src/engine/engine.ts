// The engine, a WebAssembly module (src/view/engine/engine.h), in this thread: opens files and answers requests.
import { MemoryFile, SlicedFile } from "./files";
import { Wasi } from "./wasi";

export interface Answer {
  status: number;
  type: string;
  name: string; // of a download, else ""
  body: Uint8Array<ArrayBuffer>;
}

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  hd_engine_room(size: number): number;
  hd_engine_give(room: number): void;
  hd_engine_begin(limit: number): number;
  hd_engine_open(engine: number, path: number, memory: number): number;
  hd_engine_follow(engine: number): void;
  hd_engine_step(engine: number): number;
  hd_engine_ask(engine: number, method: number, uri: number, body: number, size: number): number;
  hd_engine_data(engine: number): number;
  hd_engine_size(engine: number): number;
  hd_engine_type(engine: number): number;
  hd_engine_file_name(engine: number): number;
}

const MEMORY_LIMIT = 3 * 2 ** 30; // of traces, of the 4 GiB that a module has

export class Engine {
  private opened = 0;

  private constructor(
    private readonly calls: Exports,
    private readonly wasi: Wasi,
    private readonly engine: number,
  ) {}

  // `news` is called during a step, with the answer of api/session when it has changed.
  static async start(module: BufferSource, log?: (text: string) => void, news?: (session: string) => void): Promise<Engine> {
    let started: Engine | null = null;
    const wasi = new Wasi(log);
    const tell = (): void => {
      if (news && started) news(new TextDecoder().decode(started.ask("GET", "/api/session").body));
    };
    const { instance } = await WebAssembly.instantiate(module, wasi.imports(tell));
    const calls = instance.exports as unknown as Exports;
    wasi.memory = calls.memory;
    calls._initialize();
    const engine = calls.hd_engine_begin(MEMORY_LIMIT);
    if (!engine) throw new Error("There is not enough memory for the engine.");
    calls.hd_engine_follow(engine);
    started = new Engine(calls, wasi, engine);
    return started;
  }

  memoryBytes(): number {
    return this.calls.memory.buffer.byteLength;
  }

  // The address of bytes in the engine's memory, ended by a zero.
  private put(bytes: Uint8Array): number {
    const room = this.calls.hd_engine_room(bytes.length + 1) >>> 0;
    if (!room) throw new Error("The engine's memory is full.");
    const memory = new Uint8Array(this.calls.memory.buffer);
    memory.set(bytes, room);
    memory[room + bytes.length] = 0;
    return room;
  }

  private text(at: number): string {
    const memory = new Uint8Array(this.calls.memory.buffer);
    return new TextDecoder().decode(memory.slice(at >>> 0, memory.indexOf(0, at >>> 0)));
  }

  // The number of the trace, which later steps read. `memory`: only its first seconds, which need so many bytes; 0: all of it.
  open(file: Blob | Uint8Array, name: string, memory = 0): number {
    const path = `in/${this.opened++}/${name.replace(/^.*\//, "") || "file"}`;
    this.wasi.add(path, file instanceof Uint8Array ? new MemoryFile(file) : new SlicedFile(file));
    const room = this.put(new TextEncoder().encode(`/${path}`));
    const trace = this.calls.hd_engine_open(this.engine, room, memory);
    this.calls.hd_engine_give(room);
    if (trace < 0) throw new Error("The engine's memory is full.");
    return trace;
  }

  // Reads a trace or does a part of its layout; false: nothing was left to do.
  step(): boolean {
    return this.calls.hd_engine_step(this.engine) !== 0;
  }

  ask(method: string, uri: string, body?: Uint8Array): Answer {
    const utf8 = new TextEncoder();
    const rooms = [this.put(utf8.encode(method)), this.put(utf8.encode(uri)), body ? this.put(body) : 0];
    const status = this.calls.hd_engine_ask(this.engine, rooms[0], rooms[1], rooms[2], body?.length ?? 0);
    for (const room of rooms) if (room) this.calls.hd_engine_give(room);
    const data = this.calls.hd_engine_data(this.engine) >>> 0;
    const size = this.calls.hd_engine_size(this.engine) >>> 0;
    return {
      status,
      type: this.text(this.calls.hd_engine_type(this.engine)),
      name: this.text(this.calls.hd_engine_file_name(this.engine)),
      body: new Uint8Array(this.calls.memory.buffer).slice(data, data + size) as Uint8Array<ArrayBuffer>,
    };
  }
}
