// The panel "Live": camera picture, cube, current step, fault with remedy, buttons to hold.

import { CubeDrawing, CubeModel, isUniform } from "./cube.js";
import { Hold } from "./hold.js";
import { causeOf, outcomeName, reasonOf, remedyOf, seconds, stateName, stepOf, t } from "./language.js";
import { drawMechanism } from "./mechanism.js";
import { $, ask, el, endedWell, prose, themed } from "./util.js";

/** Ages of a picture. They arrive several times a second while the robot is idle or turns. */
const LIVE_S = 1, OLD_S = 3, LONG_S = 120;

const NOTHING_KNOWN = { model: new CubeModel(3), moving: [], colours: new Array(54).fill(null) };

export function cubeTheme() {
  return { plastic: themed("--plastic"), unknown: themed("--unknown"), hatch: themed("--hatch") };
}

/** Reports that a job has started; the text disappears when the robot is idle again. */
export function tellStarted(button) {
  $("answer").textContent = $("answer").dataset.started = t("{what}: started", { what: button.textContent });
}

export class Live {
  #watcher;
  #connection;
  #drawing = new CubeDrawing($("cube"));
  #seen = null;
  #hadJob = false;
  #shown = true;

  constructor(watcher, connection) {
    this.#watcher = watcher;
    this.#connection = connection;
    watcher.addEventListener("change", () => this.#tell());
    connection.addEventListener("frame", ({ detail }) => this.#show(detail));
    connection.addEventListener("stopped", ({ detail }) => this.#tellStopped(detail));
    for (const button of document.querySelectorAll("button.hold[data-path]")) new Hold(button, () => this.#begin(button));
    $("stop").addEventListener("click", () => connection.stop("stop"));
    // Act as soon as the button is touched, even if the pointer is released elsewhere.
    $("estop").addEventListener("pointerdown", () => connection.stop("estop"));
    $("estop").addEventListener("click", (e) => e.detail === 0 && connection.stop("estop"));
    document.addEventListener("visibilitychange", () => this.#wantFrames());
    const paint = () => { this.#paint(); requestAnimationFrame(paint); };
    requestAnimationFrame(paint);
  }

  set shown(shown) {
    this.#shown = shown;
    this.#wantFrames();
  }

  #wantFrames() {
    this.#connection.wantFrames("live", this.#shown && document.visibilityState === "visible");
  }

  async #begin(button) {
    const { path, kind } = button.dataset;
    $("answer").textContent = "";
    try {
      await ask("POST", `/api${path}`, kind ? { kind } : undefined);
      if (button === $("acknowledge")) $("answer").textContent = t("{what}: done", { what: button.textContent });
      else tellStarted(button);
    } catch (error) {
      $("answer").textContent = t("Not started: {why}", { why: reasonOf(error) });
    }
  }

  #tellStopped({ stopped, reason, error }) {
    const what = t(stopped === "estop" ? "Emergency stop" : "Stop");
    $("answer").textContent = reason || error
      ? t("{what} did not reach the robot: {why}. Use the switch at the robot.", { what, why: t(reason || error) })
      : t("{what}: sent to the robot.", { what });
  }

  #tell() {
    const { status, gone, cube, motion } = this.#watcher;
    if (!status) return;
    const job = status.job, fault = status.fault;
    if (!job && this.#hadJob && $("answer").textContent === $("answer").dataset.started) $("answer").textContent = "";
    this.#hadJob = Boolean(job);
    $("step").textContent = job ? sentence(stepOf(job)) : status.preparation ? sentence(stepOf(status.preparation)) : resting(status);
    const done = status.state === "turning" || !job ? null : job.progress;
    $("bar").hidden = !job && !status.preparation;
    if (done === null || done === undefined) $("bar").removeAttribute("value");
    else $("bar").value = done;
    $("fault").hidden = !fault;
    $("fault-cause").textContent = fault ? sentence(causeOf(fault)) : "";
    $("fault-remedy").replaceChildren(...prose(fault ? sentence(remedyOf(fault)) || t("The journal (cubist logs) may say more.") : ""));
    const isStopped = fault?.code === "emergency-stop";
    $("acknowledging").hidden = !isStopped;
    const busy = job !== null || status.state === "maintenance" || gone !== null;
    for (const button of document.querySelectorAll("button.hold:not([data-always])")) button.disabled = busy;
    // Hide buttons that cannot be used, to leave more room for the rest.
    $("holds").hidden = job !== null || isStopped;
    $("cube").setAttribute("aria-label", describeCube(cube, this.#watcher));
    const moves = motion?.purpose === "turn" ? motion.moves.split(" ").filter(Boolean) : [];
    if (!moves.length) $("moves-now").replaceChildren();
    else if ($("moves-now").dataset.moves !== motion.moves || !$("moves-now").firstChild) {
      $("moves-now").replaceChildren(...moves.map((move) => el("span", { class: "move" }, move)));
      $("moves-now").dataset.moves = motion.moves;
    }
  }

  /** Draws everything that changes all the time: clock, bar, layers, mechanism. */
  #paint() {
    if (!this.#shown) return;
    const watcher = this.#watcher;
    const elapsed = watcher.elapsedS;
    const last = watcher.status?.last_run;
    const timer = elapsed !== null ? seconds(elapsed) : last ? seconds(last.duration_s) : "";
    if ($("timer").textContent !== timer) $("timer").textContent = timer;
    if (watcher.motion?.purpose === "turn" && watcher.isMoving) {
      $("bar").value = watcher.atUs / Math.max(1, watcher.motion.duration_us);
    }
    const pose = watcher.pose ?? NOTHING_KNOWN;
    this.#drawing.draw(pose, pose.colours, cubeTheme());
    const held = watcher.heldBy;
    const told = held ? t("Cube, {up} up and {front} in front", { up: held[0], front: held[1] }) : t("Cube: not seen yet");
    if ($("cube-text").textContent !== told) $("cube-text").textContent = told;
    this.#strike();
    this.#paintMechanism();
    this.#tellPicture();
  }

  #strike() {
    const { motion, atUs } = this.#watcher;
    if (motion?.purpose !== "turn" || !$("moves-now").firstChild) return;
    const done = movesDone(motion, atUs);
    [...$("moves-now").children].forEach((span, i) => {
      const state = i < done ? "done" : i === done && this.#watcher.isMoving ? "now" : "";
      if (span.dataset.state !== state) span.dataset.state = state;
    });
  }

  #paintMechanism() {
    const { mechanism, actuators, motion } = this.#watcher;
    const told = JSON.stringify([mechanism?.kind, actuators, document.documentElement.lang]);
    if ($("mechanism").dataset.told === told) return;
    $("mechanism").dataset.told = told;
    $("mechanism").dataset.resting = !motion;
    $("mechanism").replaceChildren(...drawMechanism(mechanism, actuators));
  }

  async #show({ number, at, jpeg }) {
    const image = await createImageBitmap(jpeg).catch(() => null);
    if (!image) return;
    const canvas = $("picture"), g = canvas.getContext("2d");
    canvas.width = image.width;
    canvas.height = image.height;
    g.drawImage(image, 0, 0);
    const look = this.#watcher.look, cube = this.#watcher.cube;
    const isLook = look && cube && look.picture === number;
    if (isLook) grid(g, look.corners, cube.size, image.width, image.height);
    this.#seen = { number, at };
    this.#seen.face = isLook ? look.face : null;
    canvas.dataset.number = number;
    canvas.setAttribute("aria-label", isLook ? t("The camera's picture of face {face}, with the stickers it found", look) : t("The camera's picture"));
  }

  /** Shows the subject of the picture and, if it is not live, its age. */
  #tellPicture() {
    const seen = this.#seen;
    const what = seen?.face ? t("Camera: face {face}", seen) : t("Camera");
    if ($("picture-text").textContent !== what) $("picture-text").textContent = what;
    if (!seen) return;
    const age = (performance.now() - seen.at) / 1000, badge = $("picture-age");
    const told = age < LIVE_S ? t("Live")
      : age < LONG_S ? t("{time} ago", { time: seconds(Math.floor(age), 0) }) : t("{count} min ago", { count: Math.floor(age / 60) });
    badge.hidden = false;
    badge.dataset.live = age < LIVE_S;
    if (badge.textContent !== told) badge.textContent = told;
    $("picture").classList.toggle("old", age > OLD_S);
  }
}

/** The number of moves that are done. */
export const movesDone = (motion, atUs) => motion.move_ends_us.filter((end) => end <= atUs).length;

function grid(g, corners, n, width, height) {
  const [a, b, c, d] = corners.map(([x, y]) => [x * width, y * height]);
  const between = (p, q, t) => [p[0] + (q[0] - p[0]) * t, p[1] + (q[1] - p[1]) * t];
  for (const [colour, lineWidth] of [["#000", Math.max(4, width / 130)], ["#fff", Math.max(2, width / 260)]]) {
    g.strokeStyle = colour;
    g.lineWidth = lineWidth;
    g.beginPath();
    for (let i = 0; i <= n; i++) {
      for (const [p, q] of [[between(a, b, i / n), between(d, c, i / n)], [between(a, d, i / n), between(b, c, i / n)]]) {
        g.moveTo(...p);
        g.lineTo(...q);
      }
    }
    g.stroke();
  }
}

function resting(status) {
  const last = status.last_run;
  const ready = status.released.length ? t("Ready for a cube, motors at rest") : t("Ready for a cube");
  const said = status.state === "idle" ? ready : stateName(status.state);
  if (!last) return said;
  const ended = { state: said, outcome: outcomeName(last.outcome), time: seconds(last.duration_s) };
  return endedWell(last.outcome) ? t("{state}. Last run: {outcome} in {time}", ended) : t("{state}. Last run: {outcome} after {time}", ended);
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function describeCube(cube, watcher) {
  if (!cube) return t("The cube is not known yet");
  const face = cube.size * cube.size;
  if (cube.facelets.includes("?")) {
    const seen = (cube.seen ?? []).filter(Boolean).length;
    return t("The cube, {seen} of 6 faces seen", { seen: Math.round(seen / face) });
  }
  if (!watcher.motion && /^(.)\1*$/.test(cube.facelets.slice(0, face)) && isUniform(cube)) return t("The cube, solved");
  return t("The cube as the robot holds it; all its stickers are known");
}
