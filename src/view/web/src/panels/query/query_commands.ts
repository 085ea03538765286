// The commands of the panel of queries.
import type { App } from "../../app";
import type { Command } from "../../tools/commands";
import { cancelQuery, runQuery, since } from "./query_run";

export function queryCommands(app: App): Command[] {
  const isShown = (): boolean => app.state.tab.value === "query";
  return [
    {
      id: "query", title: "Query: ask in SQL", group: "Search", keys: ["q"], run: () => {
        app.state.tab.value = "query";
        requestAnimationFrame(() => document.getElementById("sql")?.focus());
      },
    },
    { id: "run-query", title: "Run the query of the Query panel", group: "Search", keys: ["Ctrl+Enter"], run: () => void runQuery(app), enabled: isShown },
    { id: "cancel-query", title: "Cancel the query that runs", group: "Search", keys: ["Ctrl+."], run: () => void cancelQuery(app), enabled: () => since.value !== null },
  ];
}
