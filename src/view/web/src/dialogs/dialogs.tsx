// The dialogs: help, palette and marks. Native ones, so that the focus stays inside and Escape closes.
import { render, type ComponentChildren, type JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../app";
import { Help } from "./help";
import { MarkList } from "./marks";
import { Palette } from "./palette";
import type { State } from "../state";

type DialogName = NonNullable<State["dialog"]["value"]>;

const TITLES: Record<DialogName, string> = { help: "Keys and gestures", palette: "Commands", marks: "Marks" };

function Modal({ app, name, children }: { app: App; name: DialogName; children: ComponentChildren }): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  const close = (): void => {
    app.state.dialog.value = null;
  };
  useLayoutEffect(() => {
    const before = document.activeElement;
    const dialog = ref.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={ref} class={`dialog dialog-${name}`} aria-label={TITLES[name]} onCancel={(event) => {
      event.preventDefault();
      close();
    }} onClick={(event) => {
      if (event.target === ref.current) close(); // on the backdrop
    }}>
      <div class="dialog-body">
        {name !== "palette" && (
          <header class="dialog-head">
            <h2>{TITLES[name]}</h2>
            <button type="button" class="dialog-button" onClick={close}>Close</button>
          </header>
        )}
        {children}
      </div>
    </dialog>
  );
}

function Dialogs({ app }: { app: App }): JSX.Element | null {
  const name = app.state.dialog.value;
  if (name === null) return null;
  return (
    <Modal app={app} name={name} key={name}>
      {name === "help" ? <Help app={app} /> : name === "marks" ? <MarkList app={app} /> : <Palette app={app} />}
    </Modal>
  );
}

export function mountDialogs(element: HTMLElement, app: App): void {
  render(<Dialogs app={app} />, element);
}
