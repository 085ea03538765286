// Files that were opened in this browser: their handles, in its storage. Browsers without handles of files have none.
import { signal } from "@preact/signals";

type Permission = "granted" | "denied" | "prompt";
export interface Handle {
  name: string;
  getFile(): Promise<File>;
  isSameEntry(other: Handle): Promise<boolean>;
  queryPermission?(of: { mode: "read" }): Promise<Permission>;
  requestPermission?(of: { mode: "read" }): Promise<Permission>;
}
export interface Recent {
  name: string;
  size: number; // bytes
  handle: Handle;
}

const MOST = 8;
const [DATABASE, STORE, KEY] = ["heddle", "recent", "list"];
export const recent = signal<readonly Recent[]>([]);

const answerOf = <T>(request: IDBRequest<T>): Promise<T> => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error ?? new Error("no storage"));
});

async function storeFor(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  return (await answerOf(request)).transaction(STORE, mode).objectStore(STORE);
}

async function keep(list: readonly Recent[]): Promise<void> {
  recent.value = list;
  try {
    await answerOf((await storeFor("readwrite")).put(list, KEY));
  } catch {
    // without storage the list is that of this page
  }
}

export async function loadRecent(): Promise<void> {
  try {
    const stored: unknown = await answerOf((await storeFor("readonly")).get(KEY));
    if (Array.isArray(stored)) recent.value = stored as Recent[];
  } catch {
    // without storage there are none
  }
}

export async function remember(handle: Handle, { name, size }: File): Promise<void> {
  const others: Recent[] = [];
  for (const each of recent.peek()) if (!(await each.handle.isSameEntry(handle))) others.push(each);
  await keep([{ name, size, handle }, ...others].slice(0, MOST));
}

export const forgetRecent = (): Promise<void> => keep([]);

// The browser asks the user whether the page may read it again.
export async function fileOf({ handle }: Recent): Promise<File> {
  const mode = { mode: "read" } as const;
  if ((await handle.queryPermission?.(mode)) !== "granted" && (await handle.requestPermission?.(mode)) !== "granted")
    throw new Error("the browser does not allow to read it");
  return handle.getFile();
}
