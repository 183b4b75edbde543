// The panel "Plan": the current or last motion as a timeline with a moving cursor.

import { movesDone } from "./live.js";
import { workerOf } from "./mechanism.js";
import { operationWords, reasonOf, seconds, spoken, t } from "./language.js";
import { $, Loader, ask, el, msg } from "./util.js";

const ROW = 26, LEFT = 100, WIDTH = 900;

const KINDS = { turn: msg("turns a layer"), rotate: msg("turns the whole cube"), other: msg("moves only the mechanism") };

export class Plan {
  #watcher;
  #shown = false;
  #motion = null;
  #cursor = null;
  #loader = new Loader();
  #now = null;
  #steps = [];
  #step = null;

  constructor(watcher) {
    this.#watcher = watcher;
    watcher.addEventListener("change", () => this.#shown && this.#update());
    spoken.addEventListener("change", () => {
      this.#motion = null;
      this.#loader.forget();
      if (this.#shown) this.#update();
    });
    const paint = () => { if (this.#shown) this.#paint(); requestAnimationFrame(paint); };
    requestAnimationFrame(paint);
  }

  set shown(shown) {
    this.#shown = shown;
    if (shown) this.#update();
  }

  async #update() {
    const { motion, status } = this.#watcher;
    if (motion && motion !== this.#motion) return this.#render(motion, true);
    const last = status?.last_run?.id;
    if (this.#motion) return;
    if (!last) return this.#empty();
    let record;
    try {
      record = await this.#loader.load(last, () => ask("GET", `/api/runs/${last}`));
    } catch (error) {
      return $("plan").replaceChildren(el("p", { class: "card" }, reasonOf(error)));
    }
    if (!record) return;
    if (!record.operations.length) return this.#empty();
    this.#render({ operations: record.operations, moves: record.moves ?? "", purpose: "turn", duration_us: record.planned_us, greedy_us: record.greedy_us }, false);
  }

  #empty() {
    $("plan").replaceChildren(el("p", { class: "card" }, t("There is no plan yet: start a solve.")));
  }

  #render(motion, isNow) {
    this.#motion = isNow ? motion : null;
    if (isNow) this.#loader.forget();
    const count = motion.moves.split(" ").filter(Boolean).length;
    const title = motion.purpose === "look" ? t("Showing the camera the next face")
      : t(count === 1 ? "{count} move in {time}" : "{count} moves in {time}", { count, time: seconds(motion.duration_us / 1e6) });
    const moves = el("p", { id: "plan-moves" }, motion.moves.split(" ").filter(Boolean).map((m) => el("span", { class: "move" }, m)));
    const { svg, cursor } = timeline(motion), steps = stepByStep(motion);
    this.#cursor = isNow ? cursor : null;
    this.#now = isNow ? moves : null;
    if (!isNow) cursor.remove();
    $("plan").replaceChildren(
      el("div", { class: "card" }, el("h2", {}, isNow ? title : t("Last plan: {title}", { title })), moves),
      el("div", { class: "card" },
        el("div", { class: "table", tabindex: 0, role: "group", "aria-label": t("Timeline") }, svg),
        el("p", { class: "legend" }, Object.entries(KINDS).map(([kind, text]) => el("span", {}, el("i", { class: kind }), t(text))))),
      steps, ...savings(motion), shares(motion));
    this.#steps = isNow ? steps.querySelectorAll("li") : [];
  }

  #paint() {
    if (!this.#cursor || !this.#motion) return;
    const { atUs, isMoving } = this.#watcher;
    const x = LEFT + (atUs / Math.max(1, this.#motion.duration_us)) * (WIDTH - LEFT - 8);
    this.#cursor.setAttribute("transform", `translate(${x.toFixed(1)})`);
    const done = movesDone(this.#motion, atUs);
    [...(this.#now?.children ?? [])].forEach((span, i) => {
      span.dataset.state = i < done ? "done" : i === done && isMoving ? "now" : "";
    });
    this.#paintSteps(atUs, isMoving);
  }

  /** Highlights the current steps and keeps the first of them in view. */
  #paintSteps(atUs, isMoving) {
    const steps = [...this.#steps];
    for (const step of steps) {
      const [from, to] = [Number(step.dataset.from), Number(step.dataset.to)];
      const state = to <= atUs ? "done" : from <= atUs && isMoving ? "now" : "";
      if (step.dataset.state !== state) step.dataset.state = state;
    }
    const now = steps.find((step) => step.dataset.state === "now");
    if (!now || now === this.#step) return;
    this.#step = now;
    const list = now.parentElement;
    list.scrollTop = now.offsetTop - list.offsetTop - list.clientHeight / 3;
  }
}

/** The operations of the robot in plain words, one per row. */
function stepByStep({ operations }) {
  const inOrder = [...operations].sort((p, q) => p.start_us - q.start_us);
  const rows = inOrder.map((o) => el("li", { class: kindOf(o), "data-from": o.start_us, "data-to": o.start_us + o.duration_us },
    el("span", {}, operationWords(o)), el("span", { class: "quiet" }, seconds(o.start_us / 1e6, 1))));
  return el("div", { class: "card" }, el("h2", {}, t("Step by step")),
    el("ol", { id: "plan-steps", class: "steps", tabindex: 0, "aria-label": t("Step by step") }, rows));
}

const kindOf = (o) => (o.op === "turn" || o.op === "rotate" ? o.op : "other");
/** One row for each part of the mechanism, one bar for each operation. */
function timeline({ operations, duration_us }) {
  const rows = [...new Set(operations.map(workerOf))].sort();
  const height = rows.length * ROW + 34, scale = (WIDTH - LEFT - 8) / Math.max(1, duration_us);
  const svg = el("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "chart timeline", role: "img", "aria-label": t("Timeline of {count} operations in {time}", { count: operations.length, time: seconds(duration_us / 1e6) }) });
  const step = [0.5, 1, 2, 5, 10, 20, 30, 60, 120].find((s) => duration_us / 1e6 / s <= 10) ?? 300;
  for (let s = 0; s <= duration_us / 1e6; s += step) {
    const x = LEFT + s * 1e6 * scale;
    svg.append(el("line", { x1: x, x2: x, y1: 0, y2: rows.length * ROW, class: "rule" }),
      el("text", { x, y: rows.length * ROW + 18, "text-anchor": "middle" }, `${s} s`));
  }
  rows.forEach((row, i) => svg.append(el("text", { x: 0, y: i * ROW + 17 }, row)));
  for (const o of operations) {
    const bar = el("rect", {
      x: LEFT + o.start_us * scale, y: rows.indexOf(workerOf(o)) * ROW + 4,
      width: Math.max(1.5, o.duration_us * scale - 1), height: ROW - 8, rx: 2, class: kindOf(o),
    });
    bar.append(el("title", {}, nameOf(o)));
    svg.append(bar);
  }
  const cursor = el("line", { x1: 0, x2: 0, y1: 0, y2: rows.length * ROW + 4, class: "cursor" });
  svg.append(cursor);
  return { svg, cursor };
}

function nameOf(o) {
  return t("{what}: {time} from {start}", { what: operationWords(o), time: seconds(o.duration_us / 1e6, 2), start: seconds(o.start_us / 1e6, 2) });
}

/** Time by kind; overlapping operations count as the first of turn, rotate, other. */
function shares({ operations, duration_us }) {
  const edges = [...new Set(operations.flatMap((o) => [o.start_us, o.start_us + o.duration_us]))].sort((p, q) => p - q);
  const sums = { turn: 0, rotate: 0, other: 0 };
  edges.slice(1).forEach((to, i) => {
    const active = operations.filter((o) => o.start_us <= edges[i] && o.start_us + o.duration_us >= to).map(kindOf);
    const kind = ["turn", "rotate", "other"].find((k) => active.includes(k));
    if (kind) sums[kind] += to - edges[i];
  });
  return el("div", { class: "card" }, el("h2", {}, t("Where the time goes")),
    el("dl", { class: "facts" }, Object.entries(sums).flatMap(([kind, us]) => [
      el("dt", {}, t(KINDS[kind])), el("dd", { class: "figure" }, `${seconds(us / 1e6)} (${Math.round((100 * us) / Math.max(1, duration_us))} %)`)])));
}

/** Two bars: the time of the plan, and of the same moves one at a time; nothing if unknown. */
function savings({ duration_us, greedy_us }) {
  if (!greedy_us) return [];
  const longest = Math.max(duration_us, greedy_us), saved = Math.round(100 * (1 - duration_us / greedy_us));
  const rows = [[t("As planned"), duration_us, "turn"], [t("One move at a time"), greedy_us, "other"]];
  return [el("div", { class: "card", id: "plan-savings" },
    el("h2", {}, saved > 0 ? t("Planning saves {saved} %", { saved }) : t("Planning saves nothing here")),
    el("dl", { class: "bars" }, rows.flatMap(([name, us, kind]) => [
      el("dt", {}, name),
      el("dd", {}, el("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "chart", "aria-hidden": "true" },
        el("rect", { width: (100 * us) / longest, height: 10, class: kind })), seconds(us / 1e6, 2))])),
    el("p", { class: "quiet small" }, t("One move at a time: the same moves, each done as fast as possible, without looking ahead.")))];
}
