// Draws layers of rectangles with WebGL2: one instanced draw call a layer. Positions are whole pixels that the CPU worked
// out in doubles. After a lost context everything is made anew; until it is back nothing can be drawn, and the view says so.
import type { DrawList } from "./list";
import { RECT_BYTES, type Rects } from "./rects";

export interface Backend {
  readonly name: "webgl2" | "canvas2d";
  draw(list: DrawList, background: number): void;
}

const VERTEX = `#version 300 es
layout(location = 0) in vec4 rect;
layout(location = 1) in vec4 color;
uniform vec2 size;
flat out vec4 tone;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 at = (rect.xy + corner * rect.zw) / size * 2.0 - 1.0;
  gl_Position = vec4(at.x, -at.y, 0.0, 1.0);
  tone = vec4(color.rgb * color.a, color.a);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
flat in vec4 tone;
uniform float hatch;
out vec4 result;
void main() {
  if (hatch > 0.0 && mod(gl_FragCoord.x + gl_FragCoord.y, hatch) > hatch * 0.3) discard;
  result = tone;
}`;

interface Program {
  program: WebGLProgram;
  size: WebGLUniformLocation | null;
  hatch: WebGLUniformLocation | null;
  vertices: WebGLVertexArrayObject | null;
  buffer: WebGLBuffer | null;
  room: number; // bytes of the buffer
}

export class WebGlBackend implements Backend {
  readonly name = "webgl2";
  lost = false;
  private made: Program | null = null;

  // Throws where there is no WebGL2.
  constructor(
    private readonly canvas: HTMLCanvasElement,
    onRestored: () => void,
  ) {
    this.gl = context(canvas);
    this.made = this.make();
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // without it, it never comes back
      this.lost = true;
      this.made = null;
    });
    canvas.addEventListener("webglcontextrestored", () => {
      this.lost = false;
      this.made = this.make();
      onRestored();
    });
  }

  private readonly gl: WebGL2RenderingContext;

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
    gl.useProgram(made.program);
    gl.uniform2f(made.size, list.width, list.height);
    gl.bindVertexArray(made.vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, made.buffer);
    for (const layer of list.layers()) this.layer(made, layer, layer === list.hatches ? 7 * list.ratio : 0);
  }

  private layer(made: Program, layer: Rects, hatch: number): void {
    if (layer.count === 0) return;
    const { gl } = this;
    const bytes = layer.bytes();
    if (bytes.length > made.room) made.room = Math.max(bytes.length * 2, 1 << 20);
    gl.bufferData(gl.ARRAY_BUFFER, made.room, gl.STREAM_DRAW); // a new one: the card may still read the last
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, bytes);
    gl.uniform1f(made.hatch, hatch);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, layer.count);
  }

  private make(): Program {
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
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "WebGL2 program");
    const vertices = gl.createVertexArray();
    const buffer = gl.createBuffer();
    gl.bindVertexArray(vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 4, gl.SHORT, false, RECT_BYTES, 0);
    gl.vertexAttribDivisor(0, 1);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, RECT_BYTES, 8);
    gl.vertexAttribDivisor(1, 1);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    return {
      program, vertices, buffer, room: 0, size: gl.getUniformLocation(program, "size"), hatch: gl.getUniformLocation(program, "hatch"),
    };
  }
}

function context(canvas: HTMLCanvasElement): WebGL2RenderingContext {
  const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false, preserveDrawingBuffer: false });
  if (!gl) throw new Error("no WebGL2");
  return gl;
}
