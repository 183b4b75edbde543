// The state of the robot: its status, the cube, the current motion and its clock.

import { CubeInMotion, CubeModel, coloursOf, orientationAfter } from "./cube.js";
import { actuatorsAt } from "./mechanism.js";
import { reducedMotion } from "./util.js";

const MOVING = new Set(["scanning", "turning", "checking", "maintenance"]);
const LONGEST_GUESS_MS = 1500;

export class Watcher extends EventTarget {
  status = null;
  gone = "connecting";
  cube = null;
  motion = null;
  look = null;
  mechanism = null;
  positions = null;
  #moving = null;
  #atUs = 0;
  #heardAt = 0;
  #rate = 1;
  #jobHeardAt = 0;

  constructor(connection) {
    super();
    connection.addEventListener("status", ({ detail }) => this.#setStatus(detail));
    connection.addEventListener("live", ({ detail }) => this.#setLive(detail));
    connection.addEventListener("event", ({ detail }) => this.#hear(detail));
    connection.addEventListener("gone", ({ detail }) => this.#changed(() => { this.gone = detail; }));
  }

  get isMoving() {
    return !this.gone && this.status !== null && MOVING.has(this.status.state) && this.motion !== null;
  }

  /** The clock of the motion, sent by the robot and estimated in between. */
  get atUs() {
    if (!this.motion) return 0;
    if (!this.isMoving || reducedMotion()) return this.#atUs;
    const guess = Math.min(performance.now() - this.#heardAt, LONGEST_GUESS_MS) * 1000 * this.#rate;
    return Math.min(this.motion.duration_us, this.#atUs + guess);
  }

  get elapsedS() {
    const job = this.status?.job;
    if (!job) return null;
    return job.elapsed_s + (this.gone ? 0 : (performance.now() - this.#jobHeardAt) / 1000);
  }

  /** The cube with its moving layers, and its colours; null if nothing is known. */
  get pose() {
    if (!this.#moving) return null;
    return { ...this.#moving.poseAt(this.atUs, !reducedMotion()), colours: coloursOf(this.cube) };
  }

  /** The cube's faces at the robot's sites U and F now, such as "UF"; null if nothing is known. */
  get heldBy() {
    if (!this.cube) return null;
    const done = (this.motion?.operations ?? []).filter((o) => o.start_us + o.duration_us <= this.atUs);
    return orientationAfter(this.motion?.orientation ?? this.cube.orientation, done);
  }

  /** The position of each actuator: {from, to, share, isMoving} by name; null if unknown. */
  get actuators() {
    if (!this.positions || (!this.status?.homed && !this.isMoving)) return null;
    return actuatorsAt(this.positions, this.motion?.actuators ?? [], this.atUs, !reducedMotion());
  }

  #setStatus(status) {
    this.#changed(() => {
      this.gone = null;
      this.status = status;
      this.#jobHeardAt = performance.now();
    });
  }

  #setLive(live) {
    this.#changed(() => {
      this.cube = live.cube;
      this.look = live.look;
      this.mechanism = live.mechanism ?? null;
      this.positions = live.positions ?? null;
      this.#begin(live.motion, live.at_us);
    });
  }

  #hear(event) {
    this.#changed(() => {
      if (this.status && event.event !== "clock") this.status = { ...this.status, state: event.state };
      if (event.cube) this.cube = event.cube;
      if (event.look) this.look = event.look;
      if (event.event === "cube" || event.event === "motion") this.positions = event.positions ?? null;
      if (event.event === "clock") this.#tick(event.at_us);
      else if (event.event === "motion") this.#begin(event.motion, event.at_us);
      else if (event.event === "cube") this.#begin(null);
      if (this.status?.job && (event.event === "step" || event.event === "state")) this.#enter(event);
      if (this.status?.job && event.event === "progress") this.status.job.progress = event.progress;
    });
    if (event.event === "record") this.dispatchEvent(new CustomEvent("record", { detail: event.run }));
  }

  /** Enters the next step, in the same state or as the first step of another. */
  #enter({ text, step_code: code = "", step_parameters: parameters = {} }) {
    const progress = code === "look" ? (parameters.seen - 1) / parameters.count : null;
    Object.assign(this.status.job, { step: text, step_code: code, step_parameters: parameters, progress });
  }

  #begin(motion, atUs = 0) {
    this.motion = motion;
    this.#atUs = atUs ?? 0;
    this.#heardAt = performance.now();
    const orientation = motion?.orientation ?? this.cube?.orientation;
    const start = this.cube ? new CubeModel(this.cube.size).hold(orientation) : null;
    this.#moving = start && new CubeInMotion(start, motion?.operations ?? []);
  }

  #tick(atUs) {
    const now = performance.now(), passed = (now - this.#heardAt) * 1000;
    if (passed > 20_000 && atUs > this.#atUs) this.#rate = Math.max(0.05, Math.min(100, (atUs - this.#atUs) / passed));
    this.#atUs = atUs;
    this.#heardAt = now;
  }

  #changed(change) {
    change();
    this.dispatchEvent(new Event("change"));
  }
}
