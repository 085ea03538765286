// Files dropped anywhere on the page, or chosen, become traces.
import type { App } from "../app";
import { formatBytes } from "../format";
import { mountEmpty } from "./empty";
import { openedHere } from "./reading";
import { remember, type Handle } from "./recent";
import { say } from "../tools/select_actions";

const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;

class Uploads {
  private readonly list = document.createElement("div");
  private readonly queue: File[] = [];
  private busy = false;

  constructor(private readonly app: App) {
    this.list.className = "uploads";
    document.body.append(this.list);
  }

  // One after the other: two at once would compete for bandwidth.
  add(files: Iterable<File>): void {
    this.queue.push(...files);
    if (!this.busy) void this.run();
  }

  private async run(): Promise<void> {
    this.busy = true;
    for (let file = this.queue.shift(); file; file = this.queue.shift()) await this.open(file);
    this.busy = false;
  }

  private async open(file: File): Promise<void> {
    const card = document.createElement("div");
    card.className = "reading-card";
    const name = document.createElement("strong");
    name.textContent = file.name;
    const text = document.createElement("span");
    const bar = document.createElement("progress");
    bar.setAttribute("aria-label", `Sending ${file.name}`);
    card.append(name, text, bar);
    this.list.append(card);
    try {
      const trace = await this.app.source.open(file, (done, total) => {
        if (total > 0) bar.value = done / total;
        text.textContent = `${formatBytes(done)} of ${formatBytes(total)} sent`;
      });
      openedHere(trace);
      say(this.app, `${file.name} is being read.`);
    } catch (error) {
      say(this.app, `${file.name}: ${error instanceof Error ? error.message : String(error)}`, true);
    }
    card.remove();
  }
}

// Where the browser has handles of files, so that it can open them again another time.
interface Handles {
  getAsFileSystemHandle?(): Promise<Handle | null>;
}
interface Picker {
  showOpenFilePicker?(options: { multiple: boolean }): Promise<Handle[]>;
}

async function rememberAll(handles: readonly Promise<Handle | null>[]): Promise<void> {
  for (const each of handles) {
    const handle = await each.catch(() => null);
    if (handle && "getFile" in handle) await remember(handle, await handle.getFile());
  }
}

export function attachDrop(app: App, main: HTMLElement): void {
  const uploads = new Uploads(app);
  const overlay = document.createElement("div");
  overlay.className = "drop-overlay";
  overlay.textContent = "Drop the file to open it";
  overlay.hidden = true;
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.hidden = true;
  document.body.append(overlay, input);

  let depth = 0; // elements entered and not left
  window.addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth++;
    overlay.hidden = false;
  });
  window.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    if (event.dataTransfer) event.dataTransfer.dropEffect = "copy";
  });
  window.addEventListener("dragleave", (event) => {
    if (!hasFiles(event)) return;
    depth = Math.max(0, depth - 1);
    overlay.hidden = depth === 0;
  });
  window.addEventListener("drop", (event) => {
    depth = 0;
    overlay.hidden = true;
    if (!hasFiles(event)) return;
    event.preventDefault();
    const items = [...(event.dataTransfer?.items ?? [])] as (DataTransferItem & Handles)[]; // they end with the event
    void rememberAll(items.flatMap((item) => item.getAsFileSystemHandle?.() ?? []));
    uploads.add(event.dataTransfer?.files ?? []);
  });
  input.addEventListener("change", () => {
    uploads.add([...(input.files ?? [])]);
    input.value = "";
  });
  app.commands.add({ id: "open-file", title: "Open a file of this computer (or drop it on the page)", group: "View", keys: ["Ctrl+o"],
    run: () => void choose() });
  const choose = async (): Promise<void> => {
    const picker = (window as Picker).showOpenFilePicker;
    if (!picker) return input.click();
    const handles = await picker.call(window, { multiple: true }).catch(() => []); // cancelled
    uploads.add(await Promise.all(handles.map((handle) => handle.getFile())));
    await rememberAll(handles.map((handle) => Promise.resolve(handle)));
  };
  mountEmpty(main, app, (file) => uploads.add([file]));
}
