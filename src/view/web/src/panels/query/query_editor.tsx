// The SQL editor: a plain text field, with the same text in colours above it, and a list of completions.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { QueryTable } from "../../data/model";
import { completionAt, type Completion, type Offer } from "./query_complete";
import { caret, draft, failure } from "./query_run";
import { lineAndColumn, tokensOf, wordAt } from "./query_text";

const MOST_COLOURED = 20000; // characters
const PAGE = 8; // of the list

interface Piece {
  text: string;
  kind: string;
  wrong: boolean;
  at: boolean; // position of the word that the list completes
}

// Tokens, cut where the mark of the error and the list begin or end.
function piecesOf(text: string, wrong: { from: number; to: number } | null, listAt: number | null): Piece[] {
  const tokens = text.length > MOST_COLOURED ? [{ kind: "plain", from: 0, to: text.length }] : tokensOf(text);
  const cuts = [wrong?.from, wrong?.to, listAt].filter((cut) => cut !== undefined && cut !== null);
  const out: Piece[] = [];
  for (const { kind, from, to } of tokens) {
    const edges = [from, ...cuts.filter((cut) => cut > from && cut < to).sort((a, b) => a - b), to];
    for (let k = 0; k + 1 < edges.length; k++) {
      const [start, end] = [edges[k], edges[k + 1]];
      if (start === end) continue;
      out.push({ text: text.slice(start, end), kind, wrong: wrong !== null && start >= wrong.from && end <= wrong.to, at: start === listAt });
    }
  }
  if (listAt === text.length) out.push({ text: "", kind: "space", wrong: false, at: true });
  return out;
}

function List(props: { found: Completion; at: number; place: { x: number; y: number }; onTake: (offer: Offer) => void }): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => { list.current?.children[props.at]?.scrollIntoView({ block: "nearest" }); }, [props.at, props.found]);
  // Within the window, even outside the pane; above the line if there is no room below it.
  useLayoutEffect(() => {
    const element = list.current;
    const box = element?.parentElement?.getBoundingClientRect();
    if (!element || !box) return;
    const { width, height } = element.getBoundingClientRect();
    const below = box.top + props.place.y + 18;
    element.style.left = `${Math.max(4, Math.min(box.left + props.place.x, innerWidth - width - 4))}px`;
    element.style.top = `${below + height > innerHeight - 4 ? Math.max(4, below - 20 - height) : below}px`;
  });
  return (
    <div class="sqloffers" id="sql-offers" role="listbox" aria-label="What may come next" ref={list}>
      {props.found.offers.map((offer, k) => (
        <div key={`${offer.kind} ${offer.text}`} id={`sql-offer-${k}`} role="option" aria-selected={k === props.at} title={offer.detail}
          onPointerDown={(event) => { event.preventDefault(); props.onTake(offer); }}>
          <span class={`sql-${offer.kind}`}>{offer.text}</span>
          <span class="dim">{offer.detail || offer.kind}</span>
        </div>
      ))}
    </div>
  );
}

export function QueryEditor({ tables }: { tables: readonly QueryTable[] }): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  const overlay = useRef<HTMLPreElement>(null);
  const found = useSignal<Completion | null>(null);
  const chosen = useSignal(0);
  const wanted = useSignal(false); // the list was requested, or navigated: Enter takes its entry instead of a new line
  const place = useSignal({ x: 0, y: 0 });
  const text = draft.value;
  const failed = failure.value;
  const isMarked = failed !== null && failed.text === text;
  const wrong = useMemo(() => (isMarked && failed.index !== null ? wordAt(text, failed.index) : null), [failed, text]);
  const listAt = found.value?.from ?? null;
  const pieces = useMemo(() => piecesOf(text, wrong, listAt), [text, wrong, listAt]);

  useEffect(() => {
    if (field.current && caret.from <= text.length) field.current.setSelectionRange(caret.from, caret.to);
  }, []);
  useLayoutEffect(() => {
    const mark = overlay.current?.querySelector<HTMLElement>("[data-at]");
    if (mark && field.current) place.value = { x: mark.offsetLeft, y: mark.offsetTop - (field.current.parentElement?.scrollTop ?? 0) };
  }, [pieces]);

  const offer = (asked: boolean): void => {
    const { value, selectionStart, selectionEnd } = field.current as HTMLTextAreaElement;
    found.value = selectionStart === selectionEnd ? completionAt(value, selectionStart, tables, asked) : null;
    chosen.value = 0;
    wanted.value = asked;
  };
  const close = (): void => { found.value = null; };
  const note = (): void => {
    const element = field.current;
    if (!element) return;
    [caret.from, caret.to] = [element.selectionStart, element.selectionEnd];
    if (found.value && (caret.from < found.value.from || caret.from > found.value.to)) close();
  };
  // As if it were typed, so that it can be undone.
  const insert = (from: number, to: number, inserted: string): void => {
    const element = field.current as HTMLTextAreaElement;
    element.focus();
    element.setSelectionRange(from, to);
    if (!document.execCommand("insertText", false, inserted)) element.setRangeText(inserted, from, to, "end");
    draft.value = element.value;
    close();
    note();
  };
  const take = (taken: Offer | undefined): void => {
    if (found.value && taken) insert(found.value.from, found.value.to, taken.text);
  };
  const onListKey = (event: KeyboardEvent, list: Completion): boolean => {
    const step = ({ ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE } as Record<string, number>)[event.key];
    const count = list.offers.length;
    if (step !== undefined) chosen.value = Math.abs(step) === 1 ? (chosen.value + step + count) % count : Math.max(0, Math.min(count - 1, chosen.value + step));
    else if (event.key === "Tab" || (event.key === "Enter" && wanted.value)) take(list.offers[chosen.value]);
    else if (event.key === "Escape") close();
    else return false;
    if (step !== undefined) wanted.value = true;
    return true;
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (event.key === " " && (event.ctrlKey || event.metaKey)) offer(true);
    else if (event.ctrlKey || event.metaKey || event.altKey || !found.value || !onListKey(event, found.value)) {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) close();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="sqledit">
      <div class="sqlscroll" onScroll={close}>
        <pre ref={overlay} aria-hidden="true">
          {pieces.map((piece, k) => (
            <span key={k} class={`sql-${piece.kind}${piece.wrong ? " sql-wrong" : ""}`} data-at={piece.at ? "" : undefined}>{piece.text}</span>
          ))}
          {"\n"}
        </pre>
        <textarea id="sql" ref={field} value={text} spellcheck={false} autocomplete="off" autocapitalize="off" wrap="soft" aria-label="Query in SQL"
          placeholder="select name, count(*), sum(dur) from slice group by name order by 3 desc limit 20"
          aria-autocomplete="list" aria-controls={found.value ? "sql-offers" : undefined}
          aria-activedescendant={found.value ? `sql-offer-${chosen.value}` : undefined}
          aria-invalid={isMarked} aria-describedby={isMarked ? "sql-error" : undefined}
          onKeyDown={onKey} onKeyUp={note} onSelect={note} onPointerUp={note} onBlur={close}
          onInput={(event) => { draft.value = event.currentTarget.value; note(); offer(false); }} />
      </div>
      {found.value && <List found={found.value} at={chosen.value} place={place.value} onTake={take} />}
      {isMarked && <Problem text={text} message={failed.message} index={failed.index} />}
    </div>
  );
}

function Problem({ text, message, index }: { text: string; message: string; index: number | null }): JSX.Element {
  const place = index === null ? null : lineAndColumn(text, index);
  const go = (): void => {
    const field = document.getElementById("sql");
    const word = index === null ? null : wordAt(text, index);
    if (!(field instanceof HTMLTextAreaElement) || !word) return;
    field.focus();
    field.setSelectionRange(word.from, word.to);
  };
  return (
    <p class="sqlerror bad" id="sql-error" role="alert">
      <span aria-hidden="true">⚠ </span>
      {place && <button type="button" class="link" title="Go to the place" onClick={go}>line {place.line}, column {place.column}</button>}{place && ": "}
      <bdi>{message}</bdi>
    </p>
  );
}
