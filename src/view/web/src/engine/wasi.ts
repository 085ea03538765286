// What the engine imports: the functions of WASI (preview 1) that its C library calls, over files in memory.
import { MemoryFile, type Bytes } from "./files";

const OK = 0;
const BADF = 8;
const EXIST = 20;
const INVAL = 28;
const NOENT = 44;
const NOSYS = 52;
const NOTDIR = 54;
const ROFS = 69;

const CREATE = 1;
const EXCLUSIVE = 4;
const TRUNCATE = 8;
const APPEND = 1;

const DIRECTORY = 3;
const REGULAR = 4;
const ROOT = 3; // its descriptor: the only folder that is open from the start

interface Open {
  path: string;
  file: Bytes | null; // null: a folder, or a standard stream
  at: number;
  flags: number;
}

export class Wasi {
  memory: WebAssembly.Memory | null = null;
  private readonly files = new Map<string, Bytes>();
  private readonly folders = new Set(["", "tmp", "var", "var/tmp"]);
  private readonly open = new Map<number, Open>([0, 1, 2, ROOT].map((fd) => [fd, { path: "", file: null, at: 0, flags: 0 }]));
  private readonly started = Date.now();

  constructor(private readonly log: (text: string) => void = () => undefined) {}

  // From now on the engine finds it under this path.
  add(path: string, file: Bytes): void {
    this.files.set(path, file);
  }

  private view(): DataView {
    return new DataView(this.memory!.buffer);
  }

  private bytes(at: number, size: number): Uint8Array {
    return new Uint8Array(this.memory!.buffer, at >>> 0, size >>> 0);
  }

  private text(at: number, size: number): string {
    return new TextDecoder().decode(this.bytes(at, size).slice());
  }

  private pathOf(at: number, size: number): string {
    const parts: string[] = [];
    for (const part of this.text(at, size).split("/")) {
      if (part === "..") parts.pop();
      else if (part && part !== ".") parts.push(part);
    }
    return parts.join("/");
  }

  private descriptor(open: Open): number {
    let fd = ROOT + 1;
    while (this.open.has(fd)) fd++;
    this.open.set(fd, open);
    return fd;
  }

  private copy(fd: number): number {
    const from = this.open.get(fd);
    return from?.file ? this.descriptor({ ...from }) : -1;
  }

  // One read or write of a list of buffers; `at` null: at the descriptor's place, which moves.
  private transfer(fd: number, list: number, count: number, at: bigint | null, done: number, writes: boolean): number {
    const open = this.open.get(fd);
    if (!open) return BADF;
    const view = this.view();
    let total = 0;
    if (at === null && writes && open.flags & APPEND && open.file) open.at = open.file.size;
    const from = at === null ? open.at : Number(at);
    for (let k = 0; k < count; k++) {
      const part = this.bytes(view.getUint32(list + 8 * k, true), view.getUint32(list + 8 * k + 4, true));
      if (writes) {
        if (fd === 1 || fd === 2) this.log(new TextDecoder().decode(part.slice()));
        else if (open.file instanceof MemoryFile) open.file.write(from + total, part);
        else return open.file ? ROFS : BADF;
        total += part.length;
        continue;
      }
      if (!open.file) return fd === 0 ? (view.setUint32(done, 0, true), OK) : BADF;
      const got = open.file.read(from + total, part);
      total += got;
      if (got < part.length) break;
    }
    if (at === null) open.at = from + total;
    this.view().setUint32(done, total, true);
    return OK;
  }

  private putStat(at: number, path: string, file: Bytes | null): void {
    const view = this.view();
    let ino = 0n;
    for (let k = 0; k < path.length; k++) ino = (ino * 31n + BigInt(path.charCodeAt(k))) & 0x7fffffffffffffffn;
    this.bytes(at, 64).fill(0);
    view.setBigUint64(at, 1n, true);
    view.setBigUint64(at + 8, ino + 1n, true);
    view.setUint8(at + 16, file ? REGULAR : DIRECTORY);
    view.setBigUint64(at + 24, 1n, true);
    view.setBigUint64(at + 32, BigInt(file ? file.size : 0), true);
    for (const time of [40, 48, 56]) view.setBigUint64(at + time, BigInt(this.started) * 1000000n, true);
  }

  private pathOpen(path: string, create: number, flags: number, out: number): number {
    const same = /^(?:dev|proc\/self)\/fd\/(\d+)$/.exec(path);
    if (same) {
      const fd = this.copy(Number(same[1]));
      if (fd < 0) return BADF;
      this.open.get(fd)!.at = 0;
      this.view().setUint32(out, fd, true);
      return OK;
    }
    let file = this.files.get(path) ?? null;
    if (file && create & EXCLUSIVE && create & CREATE) return EXIST;
    if (!file && create & CREATE) {
      if (!this.folders.has(path.split("/").slice(0, -1).join("/"))) return NOENT;
      file = new MemoryFile();
      this.files.set(path, file);
    }
    if (!file && !this.folders.has(path)) return NOENT;
    if (file && create & TRUNCATE) {
      if (!(file instanceof MemoryFile)) return ROFS;
      file.resize(0);
    }
    this.view().setUint32(out, this.descriptor({ path, file, at: 0, flags }), true);
    return OK;
  }

  private seek(fd: number, offset: bigint, whence: number, out: number): number {
    const open = this.open.get(fd);
    if (!open?.file) return BADF;
    const at = (whence === 0 ? 0 : whence === 1 ? open.at : open.file.size) + Number(offset);
    if (at < 0) return INVAL;
    open.at = at;
    this.view().setBigUint64(out, BigInt(at), true);
    return OK;
  }

  imports(news: () => void): WebAssembly.Imports {
    const known: Record<string, (...args: never[]) => number | void> = {
      args_sizes_get: (count: number, size: number) => (this.view().setUint32(count, 0, true), this.view().setUint32(size, 0, true), OK),
      args_get: () => OK,
      environ_sizes_get: (count: number, size: number) => (this.view().setUint32(count, 0, true), this.view().setUint32(size, 0, true), OK),
      environ_get: () => OK,
      clock_res_get: (_clock: number, out: number) => (this.view().setBigUint64(out, 1000n, true), OK),
      clock_time_get: (clock: number, _precision: bigint, out: number) => {
        const ms = clock === 0 ? Date.now() : performance.now();
        this.view().setBigUint64(out, BigInt(Math.round(ms * 1e6)), true);
        return OK;
      },
      random_get: (at: number, size: number) => {
        for (let k = 0; k < size; k += 65536) {
          const part = new Uint8Array(Math.min(65536, size - k));
          crypto.getRandomValues(part);
          this.bytes(at + k, part.length).set(part);
        }
        return OK;
      },
      sched_yield: () => OK,
      proc_exit: (status: number) => {
        throw new Error(`the engine ended with status ${status}`);
      },
      fd_prestat_get: (fd: number, out: number) => {
        if (fd !== ROOT) return BADF;
        this.view().setUint32(out, 0, true);
        this.view().setUint32(out + 4, 1, true);
        return OK;
      },
      fd_prestat_dir_name: (fd: number, at: number) => (fd === ROOT ? (this.bytes(at, 1).set([47]), OK) : BADF),
      fd_fdstat_get: (fd: number, out: number) => {
        const open = this.open.get(fd);
        if (!open) return BADF;
        this.bytes(out, 24).fill(0);
        this.view().setUint8(out, open.file ? REGULAR : fd <= 2 ? 2 : DIRECTORY);
        this.view().setUint16(out + 2, open.flags, true);
        this.view().setBigUint64(out + 8, 0xffffffffffffffffn, true);
        this.view().setBigUint64(out + 16, 0xffffffffffffffffn, true);
        return OK;
      },
      fd_fdstat_set_flags: (fd: number, flags: number) => {
        const open = this.open.get(fd);
        if (open) open.flags = flags;
        return open ? OK : BADF;
      },
      fd_filestat_get: (fd: number, out: number) => {
        const open = this.open.get(fd);
        if (open) this.putStat(out, open.path, open.file);
        return open ? OK : BADF;
      },
      fd_filestat_set_size: (fd: number, size: bigint) => {
        const file = this.open.get(fd)?.file;
        if (!(file instanceof MemoryFile)) return BADF;
        file.resize(Number(size));
        return OK;
      },
      fd_filestat_set_times: () => OK,
      fd_advise: () => OK,
      fd_allocate: () => NOSYS,
      fd_sync: () => OK,
      fd_datasync: () => OK,
      fd_close: (fd: number) => (this.open.delete(fd) ? OK : BADF),
      fd_seek: (fd: number, offset: bigint, whence: number, out: number) => this.seek(fd, offset, whence, out),
      fd_tell: (fd: number, out: number) => this.seek(fd, 0n, 1, out),
      fd_read: (fd: number, list: number, count: number, done: number) => this.transfer(fd, list, count, null, done, false),
      fd_pread: (fd: number, list: number, count: number, at: bigint, done: number) => this.transfer(fd, list, count, at, done, false),
      fd_write: (fd: number, list: number, count: number, done: number) => this.transfer(fd, list, count, null, done, true),
      fd_pwrite: (fd: number, list: number, count: number, at: bigint, done: number) => this.transfer(fd, list, count, at, done, true),
      path_open: (_folder: number, _look: number, at: number, size: number, create: number, _rights: bigint, _inherited: bigint, flags: number, out: number) =>
        this.pathOpen(this.pathOf(at, size), create, flags, out),
      path_filestat_get: (_folder: number, _look: number, at: number, size: number, out: number) => {
        const path = this.pathOf(at, size);
        const file = this.files.get(path) ?? null;
        if (!file && !this.folders.has(path)) return NOENT;
        this.putStat(out, path, file);
        return OK;
      },
      path_unlink_file: (_folder: number, at: number, size: number) => (this.files.delete(this.pathOf(at, size)) ? OK : NOENT),
      path_create_directory: (_folder: number, at: number, size: number) => (this.folders.add(this.pathOf(at, size)), OK),
      path_remove_directory: (_folder: number, at: number, size: number) => (this.folders.delete(this.pathOf(at, size)) ? OK : NOENT),
      path_rename: (_folder: number, at: number, size: number, _to: number, toAt: number, toSize: number) => {
        const from = this.pathOf(at, size);
        const file = this.files.get(from);
        if (!file) return NOENT;
        this.files.set(this.pathOf(toAt, toSize), file);
        this.files.delete(from);
        return OK;
      },
      path_readlink: () => INVAL,
      fd_readdir: () => NOTDIR,
      poll_oneoff: () => NOSYS,
    };
    const wasi = new Proxy(known as Record<string, unknown>, { get: (all, name: string) => all[name] ?? (() => NOSYS), has: () => true });
    return {
      wasi_snapshot_preview1: wasi as WebAssembly.ModuleImports,
      heddle: { copy_descriptor: (fd: number) => this.copy(fd), news },
    };
  }
}
