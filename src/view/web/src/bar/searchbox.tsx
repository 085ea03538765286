// The search box: text, kind of match, number of hits, and stepping through them.
import { render, type JSX, type TargetedKeyboardEvent } from "preact";
import type { App } from "../app";
import { formatCount } from "../format";
import type { SearchQuery } from "../data/model";
import { attachSearch, countText, searchStatus, searchStep, totalCount } from "../data/search";

const MODES: readonly (readonly [SearchQuery["mode"], string, string])[] = [
  ["text", "abc", "Text"], ["regex", ".*", "Regular expression"], ["glob", "a*b", "Glob: * and ?"],
];
const PLACES: readonly (readonly [SearchQuery["in"], string])[] = [["names", "names"], ["args", "arguments"], ["all", "names and arguments"]];
const FILTERS = [["none", "show all"], ["dim", "dim the rest"], ["hide", "hide the rest"]] as const;

export function mountSearchBox(el: HTMLElement, app: App): void {
  render(<SearchBox app={app} />, el);
  attachSearch(app);
  const some = (): boolean => app.state.query.value.q !== "";
  app.commands.add(
    { id: "search", title: "Search events", group: "Search", keys: ["/", "Ctrl+f"], run: focusSearch },
    { id: "search-next", title: "Next hit (Enter in the search box)", group: "Search", keys: ["n"], run: (key) => void searchStep(app, 1, key), enabled: some },
    { id: "search-previous", title: "Previous hit (Shift+Enter in the search box)", group: "Search", keys: ["Shift+N"], run: (key) => void searchStep(app, -1, key), enabled: some },
    { id: "search-clear", title: "Clear the search", group: "Search", run: () => set(app, { q: "" }), enabled: some },
    ...FILTERS.map(([filter, text]) => ({
      id: `filter-${filter}`, title: `Events that are not found: ${text}`, group: "Search" as const, run: () => { app.state.filter.value = filter; },
    })),
  );
}

function focusSearch(): void {
  const input = document.getElementById("search-text");
  if (input instanceof HTMLInputElement) {
    input.focus();
    input.select();
  }
}

function set(app: App, change: Partial<SearchQuery>): void {
  app.state.query.value = { ...app.state.query.value, ...change };
}

function onKey(app: App, event: TargetedKeyboardEvent<HTMLInputElement>): void {
  if (event.key === "Enter") {
    event.preventDefault();
    void searchStep(app, event.shiftKey ? -1 : 1, event);
  } else if (event.key === "Escape") {
    if (app.state.query.value.q !== "") set(app, { q: "" }); // and the tracks take the focus
  }
}

function SearchBox({ app }: { app: App }): JSX.Element {
  const query = app.state.query.value;
  const status = searchStatus.value;
  return (
    <div class="searchbox" role="search">
      <div class={`field ${status.error ? "wrong" : ""}`}>
        <input id="search-text" type="text" value={query.q} placeholder="Search events" aria-label="Search events" spellcheck={false}
          title="A text of names or arguments. With conditions: gemm dur>1ms, arg:stream=7"
          autocomplete="off" aria-describedby="search-note" aria-invalid={status.error !== ""}
          onInput={(event) => set(app, { q: event.currentTarget.value })} onKeyDown={(event) => onKey(app, event)} />
        <Modes app={app} query={query} />
      </div>
      <Steps app={app} />
      <select aria-label="Search in" title="Where to search" value={query.in} onChange={(event) => {
        const found = PLACES.find(([value]) => value === event.currentTarget.value);
        if (found) set(app, { in: found[0] });
      }}>
        {PLACES.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
      <select aria-label="Events that are not found" title="What becomes of events that are not found" value={app.state.filter.value}
        onChange={(event) => {
          const found = FILTERS.find(([value]) => value === event.currentTarget.value);
          if (found) app.state.filter.value = found[0];
        }}>
        {FILTERS.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
      {status.error && <div id="search-note" class="below bad" role="alert"><span aria-hidden="true">⚠ </span>{status.error}</div>}
    </div>
  );
}

function Modes({ app, query }: { app: App; query: SearchQuery }): JSX.Element {
  return (
    <>
      {MODES.map(([mode, text, title]) => (
        <button key={mode} type="button" class="toggle" title={title} aria-label={title} aria-pressed={query.mode === mode} onClick={() => set(app, { mode })}>
          {text}
        </button>
      ))}
      <button type="button" class="toggle" title="Upper and lower case are different" aria-label="Match case" aria-pressed={query.case}
        onClick={() => set(app, { case: !query.case })}>
        Aa
      </button>
    </>
  );
}

function Steps({ app }: { app: App }): JSX.Element {
  const results = app.state.results.value;
  const status = searchStatus.value;
  const asked = app.state.query.value.q !== "" && !status.error;
  const { count } = totalCount(results);
  const text = !asked ? "" : results.size === 0 ? "…" : status.at !== null ? `${formatCount(status.at)} of ${countText(results)}` : countText(results);
  return (
    <span class="steps">
      <button type="button" class="count" aria-live="polite" disabled={!asked} aria-busy={status.running}
        title={asked ? `${countText(results)} hits; click for a list by track` : "Hits"} onClick={() => { app.state.tab.value = "search"; }}>
        {text}
      </button>
      <button type="button" class="icon" title="Previous hit (Shift+Enter)" aria-label="Previous hit" disabled={!count} onClick={() => void searchStep(app, -1)}>▲</button>
      <button type="button" class="icon" title="Next hit (Enter)" aria-label="Next hit" disabled={!count} onClick={() => void searchStep(app, 1)}>▼</button>
    </span>
  );
}
