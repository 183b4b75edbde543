// The panel "Runs": the list, and the reading, pictures, faults and replay of one run.

import { CubeDrawing, CubeInMotion, CubeModel, coloursOf, drawNet, isUniform, orientationAfter, plainColour, reversed } from "./cube.js";
import { collage, isTimeLapse, timeLapse } from "./keepsakes.js";
import { cubeTheme } from "./live.js";
import { causeOf, endingOf, outcomeName, reasonOf, noteOf, remedyOf, seconds, spoken, stageName, stepOf, t, when } from "./language.js";
import { $, Loader, ask, el, endedWell, facts, msg, prose, table } from "./util.js";

const LISTED = 100;
const KINDS = { solve: msg("Solve"), scramble: msg("Scramble"), home: msg("Home") };
const outcome = (record) => el("span", { class: endedWell(record.outcome) ? "good" : "bad" }, record.outcome ? outcomeName(record.outcome) : t("in progress"));
const movesOf = (record) => (record.moves ?? "").split(" ").filter(Boolean);
const fileOf = (id, name) => `/api/runs/${id}/files/${name}`;

export class Runs {
  #shown = false;
  #watcher;
  #loader = new Loader();
  #opened = null;
  #replay = null;
  #record = null;

  constructor(watcher) {
    this.#watcher = watcher;
    watcher.addEventListener("change", () => this.#shown && this.#list());
    watcher.addEventListener("record", ({ detail }) => this.#addTimeLapse(detail));
    spoken.addEventListener("change", () => {
      if (this.#record) return this.#show(this.#record);
      if (this.#opened !== null) return; // the run is on its way
      this.#loader.forget();
      if (this.#shown) this.#list();
    });
  }

  set shown(shown) {
    this.#shown = shown;
    if (!shown) this.#replay?.pause();
  }

  /** Opens a run by its number; null: the list. */
  async open(id) {
    this.#opened = id;
    this.#record = null;
    this.#loader.forget();
    if (id === null) return this.#list();
    let record;
    try {
      record = await this.#loader.load(`run ${id}`, () => ask("GET", `/api/runs/${id}`));
    } catch (error) {
      this.#opened = null;
      if (await this.#list()) $("runs").prepend(el("p", { class: "card", role: "alert" }, reasonOf(error)));
      return;
    }
    if (!record) return; // another view was opened
    this.#show(record);
    $("run-heading").focus();
  }

  /** Shows the list, unless a run is open or on its way; true if the list or its failure is shown. */
  async #list() {
    if (this.#opened !== null) return false;
    const key = `${this.#watcher.status?.last_run?.id} ${this.#watcher.status?.job?.run}`;
    try {
      const listed = await this.#loader.load(key, () => ask("GET", `/api/runs?count=${LISTED}`));
      if (!listed) return false;
      this.#showList([...listed.runs, ...(listed.unreadable ?? [])].sort((a, b) => Number(b.id) - Number(a.id)));
    } catch (error) {
      $("runs").replaceChildren(el("p", { class: "card" }, t("The list of runs cannot be loaded: {why}", { why: reasonOf(error) })));
    }
    return true;
  }

  #showList(runs) {
    this.#replay?.pause();
    this.#replay = null;
    const heads = [[msg("Run")], [msg("Started")], [msg("Kind"), "extra"], [msg("Outcome")], [msg("Moves"), "number"], [msg("Time"), "number"]];
    const rows = runs.map((run) => !("kind" in run) ? unreadable(run) : el("tr", {},
      el("td", {}, el("button", { click: () => { location.hash = `#/runs/${Number(run.id)}`; }, "aria-label": t("Show run {run}", { run: Number(run.id) }) }, Number(run.id))),
      el("td", { class: "when" }, when(run.started_at)), el("td", { class: "extra" }, t(KINDS[run.kind] ?? run.kind)), el("td", {}, outcome(run)),
      el("td", { class: "number" }, run.kind === "home" ? "" : movesOf(run).length),
      el("td", { class: "number" }, seconds(run.duration_s))));
    $("runs").replaceChildren(runs.length
      ? table(t("Runs"), heads.map(([text, kind]) => [t(text), kind]), rows, "card table")
      : el("p", { class: "card" }, t("There are no runs yet.")));
  }

  /** Adds the time-lapse, which is made after the run, if the run is already open. */
  async #addTimeLapse(run) {
    if (this.#record?.id !== run || $("run-time-lapse")) return;
    const record = await ask("GET", `/api/runs/${run}`).catch(() => null);
    if (!record || this.#record?.id !== run || $("run-time-lapse")) return;
    this.#record = record;
    const made = timeLapse(record);
    if (made) $("run-photos").before(made);
  }

  #show(record) {
    this.#record = record;
    this.#replay?.pause();
    this.#replay = null;
    const back = () => { location.hash = "#/runs"; };
    const cards = [summary(record, back)];
    // The fault that ended the run is at the top with its remedy.
    const others = record.faults.filter((fault) => fault !== lastFault(record));
    if (others.length) cards.push(faults(others));
    if (record.facelets) cards.push(reading(record));
    if (record.operations.length) cards.push((this.#replay = new Replay(record)).card);
    cards.push(timeLapse(record), collage(record));
    if (record.photos.length) cards.push(photos(record));
    if (record.events.length) cards.push(events(record));
    $("runs").replaceChildren(el("div", { class: "two" }, cards.filter(Boolean)));
    if (record.facelets) net(record);
    this.#replay?.draw();
  }
}

function unreadable({ id, reason }) {
  return el("tr", {}, el("td", {}, Number(id)),
    el("td", { colspan: 5 }, el("span", { class: "bad" }, t("This record cannot be read and is left as it is: {why}", { why: reason }))));
}

function summary(record, back) {
  // The reason that ended the run is not repeated here.
  const notes = (texts) => texts.filter((text) => !(record.reason && text.endsWith(record.reason)))
    .map((text) => noteOf(text, record.notes)).join("; ");
  const link = record.link, us = (time) => (time ? seconds(time / 1e6, 2) : null);
  return el("div", { class: "card wide" },
    el("div", { class: "row" }, el("h2", { id: "run-heading", tabindex: -1 }, `${t("Run")} ${Number(record.id)}: `, outcome(record)),
      el("button", { class: "plain", click: back }, t("All runs"))),
    record.reason ? el("p", {}, endOf(record)) : null,
    lastFault(record)?.remedy ? el("p", {}, prose(t("What to do: {remedy}", { remedy: remedyOf(lastFault(record)) }))) : null,
    facts([
      [t("Started"), when(record.started_at)], [t("Took"), seconds(record.duration_s)],
      [t("Moves"), movesOf(record).join(" ")], [t("Planned"), us(record.planned_us)], [t("Executed"), us(record.executed_us)],
      [t("Stages"), Object.entries(record.timings_s).filter(([, s]) => s >= 0.05).map(([name, s]) => `${stageName(name)} ${seconds(s)}`).join(", ")],
      [t("On the way"), notes(record.recoveries)], [t("Warnings"), notes(record.warnings)],
      [t("Serial line"), link?.resent ? t("{count} messages sent again", { count: link.resent }) : null],
    ]),
    el("p", {}, el("a", { href: fileOf(record.id, "run.json"), download: `run-${Number(record.id)}.json` }, t("Download the record"))));
}

/** The fault that ended a run; undefined if none did. */
const lastFault = ({ reason, faults: found }) => (found.at(-1)?.cause === reason ? found.at(-1) : undefined);

/** The reason a run ended as it did. */
function endOf(record) {
  const last = lastFault(record);
  return last ? causeOf(last) : endingOf(record.reason);
}

function faults(found) {
  return el("div", { class: "card wide" }, el("h2", {}, t("Faults")), found.map((fault) =>
    el("p", {}, el("b", {}, causeOf(fault)), fault.remedy ? ` ${t("What to do: {remedy}", { remedy: remedyOf(fault) })}` : "")));
}

function reading(record) {
  const { confident, doubtful } = record.reading;
  const sure = confident === undefined ? "" : t(confident ? "read with certainty" : "doubtful");
  const note = doubtful?.length ? `; ${t("doubtful stickers: {stickers}", { stickers: doubtful.join(", ") })}` : "";
  return el("div", { class: "card net" }, el("h2", {}, t("The cube before")),
    el("canvas", { id: "run-net", role: "img", "aria-label": t("The cube unfolded: {facelets}", record) }),
    el("p", { class: "quiet small" }, `${sure}${note}`));
}

function net(record) {
  drawNet($("run-net"), sizeOf(record), record.facelets, (_, letter) => plainColour(letter), cubeTheme());
}

const sizeOf = (record) => Math.round(Math.sqrt(record.facelets.length / 6));

function photos(record) {
  const names = record.photos.filter((name) => !isTimeLapse(name));
  return el("div", { class: "card wide", id: "run-photos" }, el("h2", {}, t("Pictures")), el("div", { class: "photos" }, names.map((name) =>
    el("a", { href: fileOf(record.id, name), target: "_blank", rel: "noopener" },
      el("img", { src: fileOf(record.id, name), alt: "", loading: "lazy" }), el("span", { class: "small" }, altOf(name))))));
}

function altOf(name) {
  const [, stage, number, face] = /^(\w+)-(\d+)-(\w)\./.exec(name) ?? [];
  if (face) return t(stage === "checking" ? "Check {number}: face {face}" : "Scan {number}: face {face}", { number, face });
  return name === "reading.png" ? t("How the cube was read") : name;
}

function events(record) {
  return el("details", { class: "card wide" }, el("summary", {}, t("What happened when")),
    el("table", {}, el("tbody", {}, record.events.map((e) => el("tr", {}, el("td", { class: "number" }, seconds(e.at_s)), el("td", {}, stepOf({ step: e.text, ...e })))))));
}

/** Replays the last plan of a run on the drawn cube. */
class Replay {
  #at = 0;
  #playing = false;
  #before = 0;

  constructor(record) {
    this.operations = record.operations;
    this.end = record.planned_us || 1;
    const facelets = record.facelets ?? solvedLetters(3), size = sizeOf({ facelets }), orientation = record.orientation ?? "UF";
    const held = new CubeModel(size).hold(orientation);
    const end = this.operations.reduce((model, o) => model.perform(o), held.copy()).seen(facelets);
    // If the cube was solved otherwise than from its reading, as by a second plan, derive the start from the end.
    const isOther = record.outcome === "solved" && !record.to && !isUniform({ facelets: end, size });
    this.cube = new CubeInMotion(isOther ? undone(size, orientation, this.operations) : held, this.operations);
    this.colours = coloursOf({ facelets: isOther ? solvedLetters(size) : facelets });
    this.canvas = el("canvas", { tabindex: 0, role: "img", "aria-label": t("Replay on the cube; arrow keys turn the view") });
    this.drawing = new CubeDrawing(this.canvas);
    this.slider = el("input", { type: "range", min: 0, max: 1000, value: 0, "aria-label": t("Position in the replay"),
      input: () => { this.#at = (this.slider.value / 1000) * this.end; this.pause(); } });
    this.button = el("button", { class: "plain", click: () => (this.#playing ? this.pause() : this.play()) }, t("Play"));
    this.card = el("div", { class: "card replay" },
      el("h2", {}, t(record.facelets ? "Replay" : "Replay, as from a solved cube")), this.canvas,
      el("div", { class: "row" }, this.button, this.slider));
    this.drawSoon = () => requestAnimationFrame(() => this.draw());
    for (const kind of ["pointermove", "keydown"]) this.canvas.addEventListener(kind, this.drawSoon);
  }

  play() {
    if (this.#at >= this.end) this.#at = 0;
    this.#playing = true;
    this.button.textContent = t("Pause");
    this.#before = performance.now();
    const step = (now) => {
      if (!this.#playing || !this.canvas.isConnected) return;
      // Real time, but at most a minute for a long plan.
      const speed = Math.max(1, this.end / 60e6);
      this.#at = Math.min(this.end, this.#at + (now - this.#before) * 1000 * speed);
      this.#before = now;
      this.slider.value = (this.#at / this.end) * 1000;
      this.draw();
      if (this.#at >= this.end) return this.pause();
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  pause() {
    this.#playing = false;
    this.button.textContent = t("Play");
    this.drawSoon();
  }

  draw() {
    this.drawing.draw(this.cube.poseAt(this.#at), this.colours, cubeTheme());
  }
}

const solvedLetters = (size) => [..."URFDLB"].map((f) => f.repeat(size * size)).join("");

function undone(size, orientation, operations) {
  const solved = new CubeModel(size).hold(orientationAfter(orientation, operations));
  return reversed(operations).reduce((model, o) => model.perform(o), solved);
}
