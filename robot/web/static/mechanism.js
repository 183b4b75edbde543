// The robot's mechanism as a small drawing for each kind, or as dials for kinds without a drawing.
// The input is the profile's section `mechanism`, which names each part's actuator.

import { partName, t } from "./language.js";
import { el } from "./util.js";

const DEGREES = 90;

/** The position of each actuator at a time of a motion that started from these positions. */
export function actuatorsAt(positions, motions, atUs, smooth = true) {
  const found = Object.fromEntries(Object.entries(positions).map(([name, place]) =>
    [name, { from: place, to: place, share: 1, isMoving: false }]));
  for (const { actuator, start_us, duration_us, to, quarter_turns } of motions) {
    if (start_us > atUs) continue;
    const before = found[actuator]?.to ?? 0, done = (atUs - start_us) / Math.max(1, duration_us);
    const isMoving = done < 1, share = !isMoving ? 1 : smooth ? (1 - Math.cos(Math.PI * done)) / 2 : 0;
    found[actuator] = { from: before, to: to ?? before + quarter_turns, share: Math.round(50 * share) / 50, isMoving };
  }
  return found;
}

/** Draws a mechanism; `actuators` is null if its position is unknown. */
export function drawMechanism(mechanism, actuators) {
  if (!mechanism) return [];
  const draw = KINDS[mechanism.kind];
  if (!draw) return actuators ? [dials(actuators)] : [];
  const known = actuators ?? {};
  const parts = new Parts(known);
  const { height, children } = draw(mechanism, parts);
  const label = actuators ? t("Mechanism: {parts}", { parts: told(known) }) : t("Mechanism: its position is not known");
  return [el("svg", { viewBox: `0 0 240 ${height}`, class: actuators ? "drawn" : "drawn unknown", role: "img", "aria-label": label }, children)];
}

/** A nearly open position of an arm, for the camera, is drawn as open. */
const drawnAt = (place) => (typeof place === "string" ? place.replace(/^nearly /, "") : place);

/** Numbers for drawing, from the actuators' positions; unknown ones are drawn as homed. */
class Parts {
  constructor(actuators) {
    this.actuators = actuators;
  }

  isMoving(name) {
    return this.actuators[name]?.isMoving ?? false;
  }

  /** Interpolates between the numbers that `value` returns for the positions before and after. */
  number(name, value, resting = 0) {
    const found = this.actuators[name];
    if (!found) return resting;
    const from = value(drawnAt(found.from)) ?? resting, to = value(drawnAt(found.to)) ?? resting;
    return from + (to - from) * found.share;
  }

  /** The angle of a table or gripper in clockwise degrees. */
  angle(name, angles = {}) {
    return DEGREES * this.number(name, (place) => (typeof place === "number" ? place : angles[place]));
  }

  /** A group of shapes, marked while its actuator moves. */
  group(name, transform, ...shapes) {
    return el("g", { class: this.isMoving(name) ? "moving" : null, transform }, shapes);
  }

  caption(name, x, y, text = partName(name)) {
    return el("text", { x, y, class: this.isMoving(name) ? "moving" : null }, text);
  }
}

const line = (x1, y1, x2, y2, kind = "rod") => el("line", { x1, y1, x2, y2, class: kind });
const box = (x, y, width, height, kind = "part", rx = 2) => el("rect", { x, y, width, height, rx, class: kind });

/** A cube with its layers, seen from the side. */
function cubeFront(x, y, size, layers, raised = 0) {
  const step = size / layers;
  return Array.from({ length: layers * layers }, (_, i) =>
    box(x + step * (i % layers), y + step * Math.floor(i / layers) - (Math.floor(i / layers) < raised ? 2 : 0), step, step, "held", 1));
}

/** The holder with lid or lifters from the side; beside it the table from above. */
function flipper({ turntable, arms }, parts) {
  const table = turntable.actuator, angle = parts.angle(table, turntable.angles);
  const rolling = arms.find((arm) => {
    const { to, isMoving } = parts.actuators[arm.actuator] ?? {};
    return isMoving && arm.positions[to]?.rolls;
  });
  const roll = rolling ? DEGREES * parts.actuators[rolling.actuator].share * (rolling.positions[parts.actuators[rolling.actuator].to].rolls.endsWith("'") ? 1 : -1) : 0;
  const lift = Math.abs(Math.sin((roll * Math.PI) / 90)) * 8;
  const turned = (arm) => parts.number(arm.actuator, (place) => {
    const role = arm.positions[place];
    return role === "hold" ? 0 : role === "open" ? 38 : role ? 17 : undefined;
  }, 38);
  // The first arm is hinged behind the cube, the second in front of it.
  const side = (arm, number) => parts.group(arm.actuator, number % 2 ? `translate(108 ${46 + 6 * number}) scale(-1 1) rotate(${-turned(arm)}) ` : `translate(24 ${46 + 6 * number}) rotate(${-turned(arm)})`,
    line(0, 0, 70, 0), line(66, 0, 66, 9), el("circle", { r: 4, class: "part" }));
  const children = [
    line(24, 46, 24, 112), line(12, 112, 118, 112),
    parts.group(table, null, el("polygon", { points: "40,104 92,104 96,84 92,84 88,98 44,98 40,84 36,84", class: "part" }), line(66, 104, 66, 112)),
    el("g", { transform: `translate(0 ${-lift}) rotate(${roll} 66 75)` }, cubeFront(44, 53, 44, 3)),
    ...arms.map(side),
    ...tableFromAbove(parts, table, angle, 182, 62, 38),
    ...arms.map((arm, number) => parts.caption(arm.actuator, 66, 128 + 13 * number)),
    parts.caption(table, 182, 128),
  ];
  return { height: 120 + 13 * arms.length, children };
}

/** A disc with a square cube on it and a mark that shows its angle. */
function tableFromAbove(parts, name, angle, x, y, radius) {
  const a = radius * 0.62;
  return [parts.group(name, `translate(${x} ${y})`, el("circle", { r: radius, class: "part" }),
    el("g", { transform: `rotate(${angle})` }, box(-a, -a, 2 * a, 2 * a, "held", 3), line(0, -a, 0, -radius + 3)))];
}

/** Centre of a cube seen slightly from the right and above, and offsets of the parts at its sites. */
const CENTRE = [120, 86];
const AROUND = { U: [0, -66], D: [0, 66], R: [84, 0], L: [-84, 0], F: [-54, 52], B: [54, -52] };

function around(sites, drawn) {
  const [x, y] = CENTRE, h = 22, deep = 12;
  const faces = [
    [[x - h, y - h], [x + h, y - h], [x + h, y + h], [x - h, y + h]],
    [[x - h, y - h], [x - h + deep, y - h - deep], [x + h + deep, y - h - deep], [x + h, y - h]],
    [[x + h, y - h], [x + h + deep, y - h - deep], [x + h + deep, y + h - deep], [x + h, y + h]],
  ];
  const cube = faces.map((corners) => el("polygon", { points: corners.join(" "), class: "held" }));
  // First the parts behind or beside the cube, then the cube, then the part in front of it.
  const order = ["B", "L", "D", "U", "R"].filter((site) => sites.includes(site));
  return { height: 172, children: [...order.flatMap(drawn), ...cube, ...(sites.includes("F") ? drawn("F") : [])] };
}

/** Position of the part at a site, and of the end of its shaft at the cube. */
function placed(site, gap) {
  const [x, y] = CENTRE, [dx, dy] = AROUND[site], far = Math.hypot(dx, dy), reach = site === "F" || site === "B" ? 14 : 24;
  const near = (reach + gap) / far;
  return { x: x + dx, y: y + dy, nearX: x + dx * near, nearY: y + dy * near };
}

const siteName = (site, x, y) => el("text", { x: x + (site === "L" ? -26 : 26), y: y + 4 }, site);

function grippers({ grippers: found }, parts) {
  return around(Object.keys(found), (site) => {
    const { rotation, jaw, open, closed, angles } = found[site];
    const apart = parts.number(jaw, (place) => (place === open ? 1 : place === closed ? 0 : undefined));
    const angle = parts.angle(rotation, angles), { x, y, nearX, nearY } = placed(site, 9 * apart), off = 5 + 5 * apart;
    return [
      parts.group(jaw, null, line(x, y, nearX, nearY)),
      parts.group(rotation, `translate(${x} ${y})`, el("circle", { r: 17, class: "part" })),
      parts.group(jaw, `translate(${x} ${y}) rotate(${angle})`, line(-9, -off, 9, -off), line(-9, off, 9, off)),
      siteName(site, x, y),
    ];
  });
}

function direct({ motors }, parts) {
  return around(Object.keys(motors), (site) => {
    const { x, y, nearX, nearY } = placed(site, 0), name = motors[site];
    return [parts.group(name, null, line(x, y, nearX, nearY)),
      parts.group(name, `translate(${x} ${y})`, box(-17, -17, 34, 34, "part", 6),
        el("g", { transform: `rotate(${parts.angle(name)})` }, el("circle", { r: 12, class: "part" }), line(0, -5, 0, -11))),
      siteName(site, x, y)];
  });
}

/** The turntable's frame above, the cube on its elevator, the squisher beside it, the flipper below. */
function layered({ turntable, elevator, flipper: swing, squisher }, parts) {
  const layers = elevator.rows.length - 1, size = 42, step = size / layers;
  const rows = parts.number(elevator.actuator, (row) => Math.max(0, elevator.rows.indexOf(row)));
  const open = parts.number(squisher.actuator, (place) => (place === squisher.open ? 1 : 0), 1);
  const swung = parts.number(swing.actuator, (place) => (place === swing.second ? 1 : 0));
  const rolling = parts.isMoving(swing.actuator) && rows === 0;
  const floor = 52 + size, top = floor - size - rows * step, beside = 22 + 8 * open;
  const children = [
    parts.group(turntable.actuator, null, box(38, 8, 56, 6), box(38, 14, 7, size - 4), box(87, 14, 7, size - 4), line(66, 2, 66, 8)),
    el("g", { transform: rolling ? `rotate(${-DEGREES * swung + (swung > 0.5 ? DEGREES : 0)} 66 ${top + size / 2})` : null }, cubeFront(45, top, size, layers)),
    parts.group(elevator.actuator, null, box(47, top + size, 38, 5), line(66, top + size + 5, 66, 122)),
    parts.group(squisher.actuator, null, box(66 - beside - 12, 62, 12, 12), box(66 + beside, 62, 12, 12)),
    parts.group(swing.actuator, `translate(66 ${floor + 6}) rotate(${-50 + 100 * swung})`, line(0, -40, 0, 12), el("circle", { r: 4, class: "part" })),
    ...tableFromAbove(parts, turntable.actuator, parts.angle(turntable.actuator, turntable.angles), 182, 46, 30),
    // Captions beside their parts.
    parts.caption(turntable.actuator, 182, 92), parts.caption(elevator.actuator, 66, 134),
    parts.caption(swing.actuator, 112, 106), parts.caption(squisher.actuator, 23, 88),
  ];
  return { height: 138, children };
}

/** The parts that perform operations which name no part. */
const WORKERS = { hold: "squisher", "let-go": "squisher", raise: "elevator", swing: "flipper", return: "flipper" };

/** The name of the part of the robot under which an operation is shown. */
export function workerOf(operation) {
  if (operation.op === "turn") return t("layer {site}", operation);
  const arms = operation.gripper ? [operation.gripper] : operation.grippers ?? [];
  if (arms.length) return t("arm {site}", { site: arms.join(" + ") });
  return partName(operation.arm ?? operation.table ?? WORKERS[operation.op]) ?? (operation.op === "rotate" ? t("whole cube") : operation.op);
}

const KINDS = { flipper, grippers, direct, "layered-flipper": layered };

function told(actuators) {
  return Object.entries(actuators).sort(([p], [q]) => (p < q ? -1 : 1))
    .map(([name, { to, isMoving }]) => `${partName(name)} ${isMoving ? "→ " : ""}${placeName(to)}`).join(", ");
}

const placeName = (place) => (typeof place === "number" ? `${DEGREES * (((place % 4) + 4) % 4)}°` : place);

function dials(actuators) {
  return el("ul", { "aria-label": t("Mechanism") }, Object.entries(actuators).sort(([p], [q]) => (p < q ? -1 : 1)).map(([name, { to, isMoving }]) =>
    el("li", { class: isMoving ? "moving" : null }, gauge(to), el("b", {}, partName(name)), ` ${isMoving ? "→ " : ""}${placeName(to)}`)));
}

function gauge(place) {
  const angle = typeof place === "number" ? DEGREES * place : 0;
  return el("svg", { viewBox: "-10 -10 20 20", width: 20, height: 20, "aria-hidden": "true" },
    el("circle", { r: 9, class: "dial" }), el("line", { x1: 0, y1: 0, x2: 8, y2: 0, class: "hand", transform: `rotate(${angle})` }));
}
