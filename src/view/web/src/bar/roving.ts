// Arrows, Home and End move the focus among the controls of a bar or a menu.
export function moveFocus(event: KeyboardEvent, parent: HTMLElement | null, selector: string, vertical = false): void {
  const next = vertical ? "ArrowDown" : "ArrowRight";
  const previous = vertical ? "ArrowUp" : "ArrowLeft";
  if (!parent || event.ctrlKey || event.metaKey || event.altKey) return;
  const controls = [...parent.querySelectorAll<HTMLElement>(selector)].filter((control) => !control.hasAttribute("disabled"));
  if (controls.length === 0) return;
  const at = controls.findIndex((control) => control === document.activeElement);
  const to = event.key === next ? at + 1 : event.key === previous ? at - 1 : event.key === "Home" ? 0 : event.key === "End" ? -1 : null;
  if (to === null) return;
  event.preventDefault();
  event.stopPropagation();
  controls[(to + controls.length) % controls.length]?.focus();
}
