// Text to the clipboard, also where the page is not of a secure origin (`--listen` without TLS).
import type { App } from "../app";

function copyOld(text: string): boolean {
  const area = document.createElement("textarea");
  const focused = document.activeElement;
  area.value = text;
  area.className = "offscreen";
  area.setAttribute("aria-hidden", "true");
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}

export async function copyText(app: App, text: string, what: string): Promise<void> {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    done = copyOld(text); // no clipboard API, or it was refused
  }
  app.state.message.value = done
    ? { text: `Copied ${what}.`, error: false }
    : { text: `The browser does not let the page copy ${what}.`, error: true };
}

export const saveText = (text: string, type: string, name: string): void => save(new Blob([text], { type }), name);

export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
