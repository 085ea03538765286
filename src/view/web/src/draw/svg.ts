// A canvas whose drawing is SVG: it has those members of a 2D context that the drawing of the view uses, and writes an element
// for each call, so that the picture and the file have one drawing.
import { safeText } from "./text";

const escape = (text: string): string => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
const round = (value: number): number => Math.round(value * 100) / 100;
let patterns = 0; // made so far, for their ids

export class SvgCanvas {
  width = 0;
  height = 0;
  readonly parts: string[] = [];
  font = "10px sans-serif";
  fillStyle: string | { id: string } = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  textAlign = "left";
  textBaseline = "middle"; // all texts have it
  direction = "ltr";
  private path = "";
  private dash = "";
  private clipped = "";
  private readonly measure = document.createElement("canvas").getContext("2d");

  // As an element of canvas has it; the drawing code takes this for one.
  getContext(): CanvasRenderingContext2D {
    return this as unknown as CanvasRenderingContext2D;
  }

  clearRect(): void {
    this.parts.length = 0;
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"${this.paint()}${this.clipped}/>`);
  }

  measureText(text: string): TextMetrics {
    if (!this.measure) throw new Error("this browser has no canvas");
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  fillText(text: string, x: number, y: number): void {
    const [, style = "", size = "", family = ""] = /^(bold |italic )?(\S+) (.*)$/.exec(this.font) ?? [];
    const kind = style === "bold " ? ' font-weight="bold"' : style === "italic " ? ' font-style="italic"' : "";
    const anchor = this.textAlign === "right" ? ' text-anchor="end"' : this.textAlign === "center" ? ' text-anchor="middle"' : "";
    this.parts.push(`<text x="${round(x)}" y="${round(y)}" dominant-baseline="central" font-size="${size}" font-family="${escape(family)}"${kind}${anchor}${this.paint()}${this.clipped}>${escape(safeText(text))}</text>`);
  }

  beginPath(): void {
    this.path = "";
  }

  moveTo(x: number, y: number): void {
    this.path += `M${round(x)} ${round(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `L${round(x)} ${round(y)}`;
  }

  bezierCurveTo(...points: number[]): void {
    this.path += `C${points.map(round).join(" ")}`;
  }

  closePath(): void {
    this.path += "Z";
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path += `M${round(x)} ${round(y)}h${round(width)}v${round(height)}h${round(-width)}Z`;
  }

  setLineDash(lengths: number[]): void {
    this.dash = lengths.length > 0 ? ` stroke-dasharray="${lengths.map(round).join(" ")}"` : "";
  }

  fill(): void {
    if (this.path) this.parts.push(`<path d="${this.path}"${this.paint()}${this.clipped}/>`);
  }

  stroke(): void {
    if (!this.path) return;
    this.parts.push(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${round(this.lineWidth)}"${this.opacity()}${this.dash}${this.clipped}/>`);
  }

  // What follows is cut to the path.
  clip(): void {
    const id = `clip${++patterns}`;
    this.parts.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath>`);
    this.clipped = ` clip-path="url(#${id})"`;
  }

  // A small picture that is repeated, for hatches.
  createPattern(tile: HTMLCanvasElement): CanvasPattern {
    const id = `pattern${++patterns}`;
    this.parts.push(`<pattern id="${id}" patternUnits="userSpaceOnUse" width="${tile.width}" height="${tile.height}"><image width="${tile.width}" height="${tile.height}" href="${tile.toDataURL()}"/></pattern>`);
    return { id } as unknown as CanvasPattern;
  }

  // Another one of these, cut to its size.
  drawImage(other: unknown, x: number, y: number): void {
    if (other instanceof SvgCanvas) this.parts.push(`<svg x="${round(x)}" y="${round(y)}" width="${other.width}" height="${other.height}">`, ...other.parts, "</svg>");
  }

  // The file, `ratio` px of the drawing to one of the file.
  text(title: string, ratio: number): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${round(this.width / ratio)}" height="${round(this.height / ratio)}" viewBox="0 0 ${this.width} ${this.height}">\n`
      + `<title>${escape(safeText(title))}</title>\n${this.parts.join("\n")}\n</svg>\n`;
  }

  private paint(): string {
    return ` fill="${typeof this.fillStyle === "string" ? this.fillStyle : `url(#${this.fillStyle.id})`}"${this.opacity()}`;
  }

  private opacity(): string {
    return this.globalAlpha < 1 ? ` opacity="${round(this.globalAlpha)}"` : "";
  }
}
