// Requests of a component: sent when their key changes, aborted when it changes again or the component is removed. The
// last answer stays until the next one arrives, so that nothing jumps.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Asked<T> {
  value: T | null;
  key: string | null; // the key of the value's request
  error: string;
  loading: boolean;
  again(): void;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

interface Answer<T> {
  value: T | null;
  key: string | null;
  error: string;
  errorKey: string | null;
}

// `key` null: no request, and no value. `wait`: ms without a change of the key before the request is sent.
export function useRequest<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>, wait = 0): Asked<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ value: null, key: null, error: "", errorKey: null });
  const [attempt, setAttempt] = useState(0);
  const question = useRef(ask);
  question.current = ask;
  useLayoutEffect(() => {
    if (key === null) {
      setAnswer({ value: null, key: null, error: "", errorKey: null });
      return undefined;
    }
    const abort = new AbortController();
    const start = (): void => {
      question.current(abort.signal).then(
        (value) => {
          if (!abort.signal.aborted) setAnswer({ value, key, error: "", errorKey: null });
        },
        (error: unknown) => {
          if (abort.signal.aborted || isAbort(error)) return;
          setAnswer((last) => ({ ...last, error: messageOf(error), errorKey: key }));
        },
      );
    };
    const timer = wait > 0 ? setTimeout(start, wait) : undefined;
    if (timer === undefined) start();
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, attempt, wait]);
  const failed = answer.errorKey === key && key !== null;
  return {
    value: key === null ? null : answer.value,
    key: answer.key,
    error: failed ? answer.error : "",
    loading: key !== null && answer.key !== key && !failed,
    again: () => {
      setAnswer((last) => ({ ...last, key: null, error: "", errorKey: null }));
      setAttempt((count) => count + 1);
    },
  };
}
