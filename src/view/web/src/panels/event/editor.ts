// Addresses that open a source line in an editor: a template that the user can change, kept in this browser.
import { signal } from "@preact/signals";

const KEY = "heddle-editor";
const USUAL: Editor = { template: "vscode://file/{file}:{line}", folder: "", skip: "" };

export interface Editor {
  template: string; // with {file} and {line}
  folder: string; // that files without a leading / are in
  skip: string; // folders, separated by commas, whose code is not the user's own
}

function remembered(): Editor {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Editor>;
    const text = (key: keyof Editor): string => (typeof kept[key] === "string" ? kept[key] : USUAL[key]);
    return { template: text("template"), folder: text("folder"), skip: text("skip") };
  } catch {
    return USUAL; // no storage here, or something else is in it
  }
}

export const editor = signal<Editor>(remembered());

export function setEditor(change: Partial<Editor>): void {
  editor.value = { ...editor.value, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(editor.value));
  } catch {
    // lost when the tab is closed
  }
}

// null: the template is not an address of another program, or the folder of the file is not known. Names of files come from
// traces: they only fill in what follows the scheme.
export function editorUrl({ template, folder }: Omit<Editor, "skip">, file: string, line: number | undefined): string | null {
  if (!/^(?!javascript|data|vbscript|blob|file)[a-z][a-z0-9+.-]*:\/\/./i.test(template)) return null;
  const path = file.startsWith("/") || /^[A-Za-z]:[\\/]/.test(file) ? file : folder ? `${folder.replace(/\/*$/, "")}/${file}` : null;
  if (path === null || path.includes("\0")) return null;
  const encoded = path.split("/").map(encodeURIComponent).join("/").replaceAll("%3A", ":");
  return template.replaceAll("/{file}", () => `/${encoded.replace(/^\//, "")}`).replaceAll("{file}", () => encoded).replaceAll("{line}", String(line ?? 1));
}
