// Files as the engine sees them: those that it is given, read by slices, and those that it makes, which are memory.

export interface Bytes {
  size: number;
  // How many bytes from `at` on were put into `into`.
  read(at: number, into: Uint8Array): number;
}

export class MemoryFile implements Bytes {
  size: number;

  constructor(private data: Uint8Array = new Uint8Array(0)) {
    this.size = data.length;
  }

  read(at: number, into: Uint8Array): number {
    const count = Math.max(0, Math.min(into.length, this.size - at));
    into.set(this.data.subarray(at, at + count));
    return count;
  }

  write(at: number, from: Uint8Array): void {
    const end = at + from.length;
    if (end > this.data.length) {
      const wider = new Uint8Array(Math.max(end, this.data.length * 2));
      wider.set(this.data.subarray(0, this.size));
      this.data = wider;
    }
    if (at > this.size) this.data.fill(0, this.size, at);
    this.data.set(from, at);
    this.size = Math.max(this.size, end);
  }

  resize(size: number): void {
    if (size > this.size) this.write(size - 1, new Uint8Array(1));
    this.size = size;
  }
}

// Of a Worker's interface, which TypeScript does not know along with that of pages.
declare class FileReaderSync {
  readAsArrayBuffer(part: Blob): ArrayBuffer;
}

const WINDOW = 4 << 20;

// A file of the user's, of which a window is in memory. Only a Worker can read so.
export class SlicedFile implements Bytes {
  readonly size: number;
  private window: Uint8Array = new Uint8Array(0);
  private from = 0;

  constructor(private readonly file: Blob) {
    this.size = file.size;
  }

  private load(from: number, size: number): Uint8Array {
    return new Uint8Array(new FileReaderSync().readAsArrayBuffer(this.file.slice(from, from + size)));
  }

  read(at: number, into: Uint8Array): number {
    const count = Math.max(0, Math.min(into.length, this.size - at));
    if (count >= WINDOW) {
      into.set(this.load(at, count));
      return count;
    }
    if (at < this.from || at + count > this.from + this.window.length) {
      this.window = this.load(at, WINDOW);
      this.from = at;
    }
    into.set(this.window.subarray(at - this.from, at - this.from + count));
    return count;
  }
}
