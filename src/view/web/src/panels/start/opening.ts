// Whether the summary is open when the page is: not where the address says what to show, nor once a user closed it.
import type { State } from "../../state";

const KEY = "heddle-start-closed";

export function rememberStart(isClosed: boolean): void {
  try {
    if (isClosed) localStorage.setItem(KEY, "1");
    else localStorage.removeItem(KEY);
  } catch {
    // no storage here: it is open the next time
  }
}

export function opensStart(state: State): boolean {
  if (state.tab.peek() !== null || location.hash.length > 1) return false;
  try {
    return localStorage.getItem(KEY) === null;
  } catch {
    return true;
  }
}
