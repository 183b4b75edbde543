// A cube of any size: the positions of its stickers, the effect of a robot's operations, and its
// drawing on a canvas. Coordinates: x to the right, y up, z to the viewer. Sites are U R F D L B.

const FACES = "URFDLB";
const AXES = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] };
const NORMALS = { U: [0, 1, 0], R: [1, 0, 0], F: [0, 0, 1], D: [0, -1, 0], L: [-1, 0, 0], B: [0, 0, -1] };
/** Axis of a site, and the direction about it of a clockwise turn as seen from outside. */
const SITES = { U: ["y", 1], R: ["x", 1], F: ["z", 1], D: ["y", -1], L: ["x", -1], B: ["z", -1] };
const PLAIN = { U: "#f4f4f0", R: "#c8102e", F: "#1f9d55", D: "#ffd500", L: "#ff6a13", B: "#1d5fbf" };
const QUARTER = Math.PI / 2;

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const apply = (m, v) => [dot(m[0], v), dot(m[1], v), dot(m[2], v)];
const times = (a, b) => {
  const columns = [0, 1, 2].map((c) => [b[0][c], b[1][c], b[2][c]]);
  return a.map((row) => columns.map((column) => dot(row, column)));
};
const STILL = [AXES.x, AXES.y, AXES.z];

/** Rotation about an axis; positive angles are clockwise from its positive end, like R, U, F. */
function rotation(axis, angle) {
  const c = Math.cos(angle), s = -Math.sin(angle);
  if (axis === "x") return [[1, 0, 0], [0, c, -s], [0, s, c]];
  if (axis === "y") return [[c, 0, s], [0, 1, 0], [-s, 0, c]];
  return [[c, -s, 0], [s, c, 0], [0, 0, 1]];
}

/** Centre (in units of a layer, faces at ±n/2) of each sticker as Kociemba draws the cube. */
function places(n) {
  const h = (n - 1) / 2, found = [];
  for (const face of FACES) {
    for (let r = 0; r < n; r++) {
      for (let c = 0; c < n; c++) {
        const right = c - h, down = r - h, out = n / 2;
        found.push({
          U: [right, out, down], R: [out, -down, -right], F: [right, -down, out],
          D: [right, -out, -down], L: [-out, -down, right], B: [-right, -down, -out],
        }[face]);
      }
    }
  }
  return found;
}

const keyOf = (v) => v.map((x) => Math.round(x * 2)).join();

const layouts = new Map();

/** The places of a size and the index of each by its key; made once, because every model needs them. */
function layoutOf(size) {
  if (!layouts.has(size)) {
    const found = places(size);
    layouts.set(size, { places: found, index: new Map(found.map((p, i) => [keyOf(p), i])) });
  }
  return layouts.get(size);
}

/** Positions of the stickers: `at[place] = sticker`; places by site, stickers as the cube is drawn. */
export class CubeModel {
  constructor(size) {
    this.size = size;
    Object.assign(this, layoutOf(size));
    this.at = this.places.map((_, i) => i);
  }

  /** Holds the cube with these two faces at the robot's sites U and F. */
  hold(orientation) {
    const up = NORMALS[orientation[0]], front = NORMALS[orientation[1]];
    this.at = this.places.map((_, i) => i);
    this.#move([cross(up, front), up, front], () => true);
    return this;
  }

  /** Performs an operation of the robot that moves all or part of the cube. */
  perform(operation) {
    const part = partOf(operation, this.size);
    if (part) this.#move(rotation(part.axis, part.quarters * QUARTER), part.holds);
    return this;
  }

  /** Letters of `facelets` by site, as they appear in the robot. */
  seen(facelets) {
    return this.at.map((sticker) => facelets[sticker]).join("");
  }

  get isSolved() {
    const face = this.size * this.size;
    return this.at.every((s, i) => Math.floor(s / face) === Math.floor(this.at[i - (i % face)] / face));
  }

  copy() {
    const made = new CubeModel(this.size);
    made.at = [...this.at];
    return made;
  }

  #move(matrix, holds) {
    const after = [...this.at];
    this.places.forEach((place, i) => {
      if (holds(place)) after[this.index.get(keyOf(apply(matrix, place)))] = this.at[i];
    });
    this.at = after;
  }
}

/** Axis of an operation, its signed quarter turns and the places it moves; null if it moves none. */
function partOf(operation, size) {
  const quarters = operation.quarter_turns;
  if (operation.op === "rotate") return { axis: operation.axis, quarters, whole: true, holds: () => true };
  if (operation.op !== "turn") return null;
  const [axis, way] = SITES[operation.site], a = "xyz".indexOf(axis);
  const layers = operation.layers ?? 1, edge = size / 2 - layers;
  return { axis, quarters: quarters * way, way, layers, holds: (p) => p[a] * way > edge };
}

/** The faces at sites U and F, such as "UF", once a cube held as `orientation` has been rotated. Turns do not count. */
export function orientationAfter(orientation, operations) {
  const model = new CubeModel(1).hold(orientation);
  for (const operation of operations) if (operation.op === "rotate") model.perform(operation);
  return FACES[model.at[FACES.indexOf("U")]] + FACES[model.at[FACES.indexOf("F")]];
}

/** True if each face has one colour. */
export function isUniform({ facelets, size }) {
  const face = size * size;
  return [...facelets].every((letter, i) => letter === facelets[i - (i % face)]);
}

export function reversed(operations) {
  return [...operations].reverse().map((o) => ("quarter_turns" in o ? { ...o, quarter_turns: -o.quarter_turns } : o));
}

const endOf = (operation) => operation.start_us + Math.max(1, operation.duration_us);

/** A cube in a motion. It performs each operation once for all times after it, unless the time goes back. */
export class CubeInMotion {
  #start;
  #operations;
  #model;
  #count = 0;
  #doneUs = 0;

  /** `start`: the cube before the motion. */
  constructor(start, operations) {
    this.#start = this.#model = start;
    this.#operations = operations;
  }

  /** The cube and its moving layers at a time. */
  poseAt(atUs, smooth = true) {
    if (atUs < this.#doneUs) [this.#model, this.#count, this.#doneUs] = [this.#start, 0, 0];
    const before = this.#count;
    while (this.#count < this.#operations.length && endOf(this.#operations[this.#count]) <= atUs) this.#count++;
    const ended = this.#operations.slice(before, this.#count);
    if (ended.length) this.#model = ended.reduce((model, o) => model.perform(o), this.#model.copy());
    this.#doneUs = Math.max(this.#doneUs, ...ended.map(endOf));
    return poseAt(this.#model, this.#operations.slice(this.#count), atUs, smooth);
  }
}

function poseAt(start, operations, atUs, smooth) {
  const model = start.copy(), moving = [];
  for (const operation of operations) {
    const done = (atUs - operation.start_us) / Math.max(1, operation.duration_us);
    if (done >= 1) model.perform(operation);
    else if (done > 0 && smooth) {
      const part = partOf(operation, model.size);
      if (part) moving.push({ ...part, angle: part.quarters * QUARTER * (1 - Math.cos(Math.PI * done)) / 2 });
    }
  }
  return { model, moving };
}

/** Draws cubes on a canvas, in a view that a person can turn. */
export class CubeDrawing {
  constructor(canvas, { turnable = true } = {}) {
    this.canvas = canvas;
    this.yaw = 0.55;
    this.pitch = 0.5;
    this.painted = "";
    if (turnable) this.#listen();
  }

  /** `colours[sticker]` in the order of the drawn cube; null: unknown. */
  draw({ model, moving }, colours, theme) {
    const { canvas } = this, ratio = window.devicePixelRatio || 1;
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    const painted = JSON.stringify([model.at, moving.map((m) => m.angle), colours, theme, width, height, this.yaw, this.pitch]);
    if (!width || painted === this.painted) return;
    this.painted = painted;
    canvas.width = width;
    canvas.height = height;
    const g = canvas.getContext("2d");
    const n = model.size, distance = 5.2 * n, scale = Math.min(width, height) * distance / (1.78 * n);
    const turned = moving.filter((m) => m.whole).reduce((m, w) => times(rotation(w.axis, w.angle), m), STILL);
    const view = times(rotation("x", -this.pitch), times(rotation("y", this.yaw), turned));
    const layers = moving.filter((m) => !m.whole);
    for (const slab of slabs(n, layers, view, distance)) {
      const matrix = slab.angle ? times(view, rotation(slab.axis, slab.angle)) : view;
      const project = (v) => {
        const [x, y, z] = apply(matrix, v), s = scale / (distance - z);
        return [width / 2 + x * s, height / 2 - y * s];
      };
      this.#slab(g, n, slab, matrix, distance, project, model, colours, theme, ratio);
    }
  }

  #slab(g, n, slab, matrix, distance, project, model, colours, theme, ratio) {
    const h = n / 2, a = "xyz".indexOf(slab.axis);
    for (const face of FACES) {
      const normal = NORMALS[face], low = [-h, -h, -h], high = [h, h, h];
      low[a] = slab.from;
      high[a] = slab.to;
      const f = normal.findIndex((x) => x), side = normal[f] > 0 ? high[f] : low[f];
      const [u, v] = [0, 1, 2].filter((x) => x !== f);
      const corner = (p, q) => { const c = [0, 0, 0]; c[f] = side; c[u] = p; c[v] = q; return c; };
      const there = apply(matrix, corner((low[u] + high[u]) / 2, (low[v] + high[v]) / 2));
      const towards = apply(matrix, normal);
      if (dot(towards, [-there[0], -there[1], distance - there[2]]) <= 0) continue;
      const quad = [corner(low[u], low[v]), corner(high[u], low[v]), corner(high[u], high[v]), corner(low[u], high[v])];
      polygon(g, quad.map(project), theme.plastic, theme.plastic, ratio);
      if (Math.abs(side) < h) continue;
      const light = 0.8 + 0.2 * Math.max(0, dot(towards, [0.1, 0.75, 0.65]));
      const first = FACES.indexOf(face) * n * n;
      for (let i = first; i < first + n * n; i++) {
        const p = model.places[i];
        if (p[a] < slab.from - 0.01 && f !== a || p[a] > slab.to + 0.01 && f !== a) continue;
        const r = 0.43, at = (du, dv) => corner(p[u] + du, p[v] + dv);
        const colour = colours[model.at[i]];
        const drawn = [at(-r, -r), at(r, -r), at(r, r), at(-r, r)].map(project);
        polygon(g, drawn, shade(colour || theme.unknown, light), null, ratio);
        if (!colour) hatch(g, drawn, theme.hatch, ratio);
      }
    }
  }

  #listen() {
    const { canvas } = this;
    let last = null;
    canvas.addEventListener("pointerdown", (e) => { last = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener("pointermove", (e) => {
      if (!last) return;
      this.turn((last[0] - e.clientX) / 90, (e.clientY - last[1]) / 90);
      last = [e.clientX, e.clientY];
    });
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => { last = null; });
    canvas.addEventListener("keydown", (e) => {
      const step = { ArrowLeft: [0.2, 0], ArrowRight: [-0.2, 0], ArrowUp: [0, -0.2], ArrowDown: [0, 0.2] }[e.key];
      if (!step) return;
      e.preventDefault();
      this.turn(...step);
    });
  }

  turn(yaw, pitch) {
    this.yaw += yaw;
    this.pitch = Math.max(-1.5, Math.min(1.5, this.pitch + pitch));
  }
}

/** The cube cut at moving layers, farthest slab first: each slab hides only slabs behind it. */
function slabs(n, layers, view, distance) {
  const h = n / 2;
  const axis = layers.length ? layers[0].axis : "y";
  const ours = layers.filter((l) => l.axis === axis);
  const cuts = [...new Set([-h, ...ours.map((l) => l.way * (h - l.layers)), h])].sort((p, q) => p - q);
  const found = cuts.slice(1).map((to, i) => {
    const from = cuts[i], middle = [0, 0, 0];
    middle["xyz".indexOf(axis)] = (from + to) / 2;
    const layer = ours.find((l) => l.holds(middle));
    return { axis, from, to, angle: layer ? layer.angle : 0 };
  });
  // Position of the eye along the axis: the third row of a rotation points to the viewer.
  const eye = view[2]["xyz".indexOf(axis)] * distance;
  const far = (slab) => (eye < slab.from ? slab.from - eye : eye > slab.to ? eye - slab.to : 0);
  return found.sort((p, q) => far(q) - far(p));
}

function polygon(g, points, fill, stroke, ratio) {
  g.beginPath();
  points.forEach(([x, y], i) => (i ? g.lineTo(x, y) : g.moveTo(x, y)));
  g.closePath();
  g.fillStyle = fill;
  g.fill();
  if (stroke) {
    g.strokeStyle = stroke;
    g.lineJoin = "round";
    g.lineWidth = 2 * ratio;
    g.stroke();
  }
}

function hatch(g, quad, colour, ratio) {
  const mid = (p, q) => [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2];
  g.strokeStyle = colour;
  g.lineWidth = 1.2 * ratio;
  g.beginPath();
  for (const [from, to] of [[quad[0], quad[2]], [mid(quad[0], quad[1]), mid(quad[1], quad[2])], [mid(quad[0], quad[3]), mid(quad[3], quad[2])]]) {
    g.moveTo(...from);
    g.lineTo(...to);
  }
  g.stroke();
}

function shade(colour, light) {
  const v = parseInt(colour.slice(1), 16);
  const part = (s) => Math.round(((v >> s) & 255) * light);
  return `rgb(${part(16)},${part(8)},${part(0)})`;
}

/** Colours of a cube view's stickers: measured ones until the cube is read, null if unseen. */
export function coloursOf(view) {
  const palette = { ...PLAIN, ...view.palette };
  return [...view.facelets].map((letter, i) => (letter === "?" ? view.seen?.[i] ?? null : palette[letter]));
}

/** Draws the cube unfolded, U at the top, L F R B below it, D at the bottom. */
export function drawNet(canvas, size, letters, colourOf, theme) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth * ratio;
  if (!width) return;
  const cell = width / (4 * size + 0.9), gap = 0.3 * cell;
  canvas.width = Math.round(width);
  canvas.height = Math.round((3 * size) * cell + 2 * gap);
  const g = canvas.getContext("2d");
  const where = { U: [1, 0], L: [0, 1], F: [1, 1], R: [2, 1], B: [3, 1], D: [1, 2] };
  [...FACES].forEach((face, f) => {
    const [right, down] = where[face];
    for (let i = 0; i < size * size; i++) {
      const x = right * (size * cell + gap) + (i % size) * cell;
      const y = down * (size * cell + gap) + Math.floor(i / size) * cell;
      const colour = colourOf(f * size * size + i, letters[f * size * size + i]);
      g.fillStyle = theme.plastic;
      g.fillRect(x, y, cell + 0.5, cell + 0.5);
      g.fillStyle = colour || theme.unknown;
      g.fillRect(x + 0.06 * cell, y + 0.06 * cell, cell * 0.88, cell * 0.88);
    }
  });
}

export function plainColour(letter) {
  return PLAIN[letter] ?? null;
}
