// The viewer without a trace: where to drop one, and the files that were opened before.
import { render, type JSX } from "preact";
import type { App } from "../app";
import { formatBytes } from "../format";
import { say } from "../tools/select_actions";
import { fileOf, forgetRecent, loadRecent, recent, remember, type Recent } from "./recent";

function Empty({ app, add }: { app: App; add(file: File): void }): JSX.Element | null {
  const session = app.state.session.value;
  if (!session || session.traces.length > 0 || session.job) return null;
  const open = async (each: Recent): Promise<void> => {
    try {
      const file = await fileOf(each);
      add(file);
      await remember(each.handle, file);
    } catch (error) {
      say(app, `${each.name}: ${error instanceof Error ? error.message : String(error)}`, true);
    }
  };
  return (
    <section class="empty" aria-label="No trace is open">
      <h2>Drop a trace here</h2>
      <p>of any profiler: Kineto, Nsight Systems, XPlane, rocprof, Perfetto … {app.source.isLocal ? "It is read in this browser and sent nowhere." : "It goes to this heddle only."}</p>
      <button type="button" class="button" onClick={() => app.commands.run("open-file")}>Open a file…</button>
      {recent.value.length > 0 && (
        <>
          <h3>Recent files</h3>
          <ul>
            {recent.value.map((each) => <li key={each.name}><button type="button" class="link" onClick={() => void open(each)}>{each.name}</button> {formatBytes(each.size)}</li>)}
          </ul>
          <button type="button" class="link" onClick={() => void forgetRecent()}>Forget these files</button>
        </>
      )}
    </section>
  );
}

export function mountEmpty(parent: HTMLElement, app: App, add: (file: File) => void): void {
  void loadRecent();
  const box = document.createElement("div");
  box.className = "empty-box";
  parent.append(box);
  render(<Empty app={app} add={add} />, box);
}
