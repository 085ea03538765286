// Addresses that open a source line in an editor: a template that the user can change, kept in this browser.
import { signal } from "@preact/signals";

const KEY = "heddle-editor";
const USUAL = { template: "vscode://file/{file}:{line}", folder: "" };

export interface Editor {
  template: string; // with {file} and {line}
  folder: string; // that files without a leading / are in
}

function remembered(): Editor {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Editor>;
    return { template: typeof kept.template === "string" ? kept.template : USUAL.template, folder: typeof kept.folder === "string" ? kept.folder : "" };
  } catch {
    return USUAL; // no storage here, or something else is in it
  }
}

export const editor = signal<Editor>(remembered());

export function setEditor(next: Editor): void {
  editor.value = next;
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // lost when the tab is closed
  }
}

// null: the template is not an address of another program, or the folder of the file is not known. Names of files come from
// traces: they only fill in what follows the scheme.
export function editorUrl({ template, folder }: Editor, file: string, line: number | undefined): string | null {
  if (!/^(?!javascript|data|vbscript|blob|file)[a-z][a-z0-9+.-]*:\/\/./i.test(template)) return null;
  const path = file.startsWith("/") || /^[A-Za-z]:[\\/]/.test(file) ? file : folder ? `${folder.replace(/\/*$/, "")}/${file}` : null;
  if (path === null || path.includes("\0")) return null;
  const encoded = path.split("/").map(encodeURIComponent).join("/").replaceAll("%3A", ":");
  return template.replaceAll("/{file}", () => `/${encoded.replace(/^\//, "")}`).replaceAll("{file}", () => encoded).replaceAll("{line}", String(line ?? 1));
}
