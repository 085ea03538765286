// The preview of a drag on the tracks: a box with a text, or a line at an edge.
interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export class Rubber {
  private readonly box = document.createElement("div");
  private readonly label = document.createElement("span");
  private readonly line = document.createElement("div");

  constructor(parent: HTMLElement) {
    this.box.className = "rubber";
    this.line.className = "snap-line";
    this.box.append(this.label);
    this.box.hidden = true;
    this.line.hidden = true;
    for (const element of [this.box, this.line]) element.setAttribute("aria-hidden", "true");
    parent.append(this.box, this.line);
  }

  show(box: Box, text: string): void {
    this.box.hidden = false;
    Object.assign(this.box.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` });
    this.label.textContent = text;
  }

  // A line over a track (top and height) at x.
  showLine(x: number, top: number, height: number): void {
    this.line.hidden = false;
    Object.assign(this.line.style, { left: `${x}px`, top: `${top}px`, height: `${height}px` });
  }

  hideLine(): void {
    this.line.hidden = true;
  }

  hide(): void {
    this.box.hidden = true;
    this.line.hidden = true;
  }
}
