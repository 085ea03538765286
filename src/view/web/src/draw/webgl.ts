// Draws layers of rectangles with WebGL2: one upload per frame, one draw call per layer. Positions are whole pixels
// computed in doubles by the CPU. Each rectangle is four corners of a list of triangles, not an instance: software GL
// (and some cards) draw each instance separately. Nothing here waits for the graphics process: its results (did the
// program link?) are queried a while later. After a lost context everything is rebuilt; until then nothing can be
// drawn, and the view says so.
import type { DrawList } from "./list";
import { corners } from "./rects";

export interface Backend {
  readonly name: "webgl2" | "canvas2d";
  draw(list: DrawList, background: number): void;
}

// Constants of a layer are attributes without an array, which need no location query.
const VERTEX = `#version 300 es
layout(location = 0) in vec2 corner;
layout(location = 1) in vec4 color;
layout(location = 2) in vec4 layer;
flat out vec4 tone;
flat out float hatch;
void main() {
  vec2 at = corner / layer.xy * 2.0 - 1.0;
  gl_Position = vec4(at.x, -at.y, 0.0, 1.0);
  tone = vec4(color.rgb * color.a, color.a);
  hatch = layer.z;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
flat in vec4 tone;
flat in float hatch;
out vec4 result;
void main() {
  if (hatch > 0.0 && mod(gl_FragCoord.x + gl_FragCoord.y, hatch) > hatch * 0.3) discard;
  result = tone;
}`;

const CORNER = 0;
const COLOR = 1;
const LAYER = 2;
const CORNER_BYTES = 8;
const ASKED_MS = 1500; // after which the program has long been linked

interface Made {
  program: WebGLProgram;
  vertices: WebGLVertexArrayObject | null;
  corners: WebGLBuffer | null;
  room: number; // rectangles that the buffer of indices is for
}

export class WebGlBackend implements Backend {
  readonly name = "webgl2";
  lost = false;
  private made: Made | null = null;
  private readonly gl: WebGL2RenderingContext;
  private words = new Uint32Array(0);

  // Throws without WebGL2. `onBroken`: WebGL2 exists, but cannot be used.
  constructor(
    private readonly canvas: HTMLCanvasElement,
    onRestored: () => void,
    onBroken: () => void,
  ) {
    this.gl = context(canvas);
    this.made = this.make();
    setTimeout(() => {
      if (!this.works()) onBroken();
    }, ASKED_MS);
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // without it, the context is never restored
      this.lost = true;
      this.made = null;
    });
    canvas.addEventListener("webglcontextrestored", () => {
      this.lost = false;
      this.made = this.make();
      onRestored();
    });
  }

  draw(list: DrawList, background: number): void {
    const { gl, canvas, made } = this;
    if (this.lost || !made) return;
    if (canvas.width !== list.width || canvas.height !== list.height) {
      canvas.width = list.width;
      canvas.height = list.height;
    }
    gl.viewport(0, 0, list.width, list.height);
    gl.clearColor((background & 255) / 255, ((background >>> 8) & 255) / 255, ((background >>> 16) & 255) / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.upload(made, list);
    let first = 0;
    for (const layer of list.layers()) {
      if (layer.count === 0) continue;
      gl.vertexAttrib4f(LAYER, list.width, list.height, layer === list.hatches ? 7 * list.ratio : 0, 0);
      gl.drawElements(gl.TRIANGLES, layer.count * 6, gl.UNSIGNED_INT, first * 24);
      first += layer.count;
    }
  }

  // Uploads all layers consecutively.
  private upload(made: Made, list: DrawList): void {
    const { gl } = this;
    let count = 0;
    for (const layer of list.layers()) count += layer.count;
    if (this.words.length < count * 8) this.words = new Uint32Array(Math.max(1 << 18, count * 16));
    let at = 0;
    for (const layer of list.layers()) at = corners(this.words, at, layer);
    gl.bufferData(gl.ARRAY_BUFFER, this.words, gl.STREAM_DRAW, 0, at); // a new one: the card may still read the last
    if (count <= made.room) return;
    made.room = Math.max(1 << 15, 2 * count);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices(made.room), gl.STATIC_DRAW);
  }

  private works(): boolean {
    return this.made === null || this.gl.isContextLost() || this.gl.getProgramParameter(this.made.program, this.gl.LINK_STATUS) === true;
  }

  private make(): Made {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
      const shader = gl.createShader(type);
      if (!program || !shader) throw new Error("WebGL2 has no room for a program");
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    const vertices = gl.createVertexArray();
    const buffer = gl.createBuffer();
    gl.bindVertexArray(vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(CORNER);
    gl.vertexAttribPointer(CORNER, 2, gl.SHORT, false, CORNER_BYTES, 0);
    gl.enableVertexAttribArray(COLOR);
    gl.vertexAttribPointer(COLOR, 4, gl.UNSIGNED_BYTE, true, CORNER_BYTES, 4);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    return { program, vertices, corners: buffer, room: 0 };
  }
}

// Two triangles a rectangle.
function indices(count: number): Uint32Array {
  const found = new Uint32Array(count * 6);
  for (let n = 0; n < count; n++) {
    const corner = n * 4;
    const at = n * 6;
    found[at] = corner;
    found[at + 1] = found[at + 4] = corner + 1;
    found[at + 2] = found[at + 3] = corner + 2;
    found[at + 5] = corner + 3;
  }
  return found;
}

function context(canvas: HTMLCanvasElement): WebGL2RenderingContext {
  const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false, preserveDrawingBuffer: false });
  if (!gl) throw new Error("no WebGL2");
  return gl;
}
