// Small pieces that the panels share.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { App } from "../app";
import { copyText } from "./clipboard";
import type { TraceId } from "../data/model";
import { goTo } from "../tools/navigate";
import type { Asked } from "../data/request";

// Names come from files: text of either direction stays inside its own place.
export function Name({ text, full }: { text: string; full?: string | undefined }): JSX.Element {
  return <bdi class="name" title={full ?? text}>{text || "(no name)"}</bdi>;
}

export function Copy({ app, text, what }: { app: App; text: string; what: string }): JSX.Element {
  return (
    <button type="button" class="icon" title={`Copy ${what}`} aria-label={`Copy ${what}`} onClick={() => void copyText(app, text, what)}>
      <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" focusable="false" fill="none" stroke="currentColor" stroke-width="1.1">
        <path d="M4 4h6.5v6.5H4zM2.5 8H1.5V1.5H8v1" />
      </svg>
    </button>
  );
}

export function SearchIcon(): JSX.Element {
  return (
    <svg viewBox="0 0 12 12" width="11" height="11" aria-hidden="true" focusable="false" fill="none" stroke="currentColor" stroke-width="1.3">
      <circle cx="5" cy="5" r="3.3" /><path d="M7.5 7.5l3 3" />
    </svg>
  );
}

export function EventLink(props: { app: App; trace: TraceId; kind?: string; row: number; text: string }): JSX.Element {
  const { app, trace, kind = "slice", row, text } = props;
  return (
    <button type="button" class="link" title={text} onClick={() => void goTo(app, trace, kind, row)}>
      <bdi>{text || "(no name)"}</bdi>
    </button>
  );
}

// Placeholder for an answer: an error with a remedy, or a progress text.
export function Waiting<T>({ asked, what }: { asked: Asked<T>; what: string }): JSX.Element | null {
  if (asked.error) {
    return (
      <p class="hint bad" role="alert">
        <span aria-hidden="true">⚠ </span>{asked.error} <button type="button" class="small" onClick={asked.again}>Try again</button>
      </p>
    );
  }
  if (!asked.value) return <p class="hint">Asking for {what} …</p>;
  return null;
}

export function Facts({ children }: { children: ComponentChildren }): JSX.Element {
  return <dl class="facts">{children}</dl>;
}

export function Fact({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </>
  );
}

export function Choice<T extends string>(props: {
  label: string; value: T; options: readonly (readonly [T, string])[]; onChange: (value: T) => void;
}): JSX.Element {
  return (
    <label class="pick">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => {
        const found = props.options.find(([value]) => value === event.currentTarget.value);
        if (found) props.onChange(found[0]);
      }}>
        {props.options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </label>
  );
}

const LONG = 300; // characters of a text that are shown at first

export function LongText({ text, quoted }: { text: string; quoted?: boolean }): JSX.Element {
  const [all, setAll] = useState(false);
  const mark = quoted ? '"' : "";
  if (text.length <= LONG) return <bdi class="text">{mark}{text}{mark}</bdi>;
  return (
    <>
      <bdi class="text">{mark}{all ? text : `${text.slice(0, LONG)}…`}{mark}</bdi>{" "}
      <button type="button" class="small" aria-expanded={all} onClick={() => setAll(!all)}>
        {all ? "less" : `all ${text.length.toLocaleString("en")} characters`}
      </button>
    </>
  );
}
