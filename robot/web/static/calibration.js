// The panel "Calibration": what is calibrated, and the guide for a person at the robot.

import { Guide } from "./guide.js";
import { Hold } from "./hold.js";
import { noteOf, reasonOf, spoken, t } from "./language.js";
import { $, ask, el, table } from "./util.js";

export class Calibration {
  #watcher;
  #connection;
  #guide = null;
  #answer = el("p", { id: "guide-answer", role: "status" });
  #who = el("p", { id: "guide-who", role: "status" });

  constructor(watcher, connection) {
    this.#watcher = watcher;
    this.#connection = connection;
    watcher.addEventListener("change", () => this.#enable());
    spoken.addEventListener("change", () => {
      if (this.#guide) this.#guide.speak();
      else this.#update();
    });
  }

  set shown(shown) {
    if (this.#guide) this.#guide.shown = shown;
    else if (shown) this.#update();
  }

  async #update() {
    try {
      const [{ values }, { allowed }] = await Promise.all([ask("GET", "/api/calibration"), ask("GET", "/api/guide")]);
      if (this.#guide) return;
      $("calibration").replaceChildren(this.#about(allowed), this.#table(Object.entries(values)));
      this.#enable();
    } catch (error) {
      if (!this.#guide) $("calibration").replaceChildren(this.#answer, el("p", { class: "card" }, reasonOf(error)));
    }
  }

  #about(allowed) {
    const name = this.#watcher.status?.robot ?? "NAME";
    const terminal = el("p", {}, t("In a terminal, use this command:"), " ", el("code", {}, `cubist calibrate all --robot ${name}`));
    const told = t("Stay at the robot while you calibrate. Its button stops any motion, and nobody else can start anything.");
    if (!allowed) {
      return el("div", { class: "card" }, el("h2", {}, t("Calibrate")), el("p", {}, told), this.#who, terminal,
        el("p", { class: "quiet" }, t("To calibrate here as well, set CUBIST_WEB_CALIBRATE=yes in the settings of cubist-web on the robot.")));
    }
    const begin = el("button", { class: "hold", id: "guide-begin" }, t("Calibrate here"));
    new Hold(begin, () => this.#begin(), (text) => { this.#answer.textContent = text; });
    return el("div", { class: "card" }, el("h2", {}, t("Calibrate")), el("p", {}, told),
      el("p", {}, t("Calibration ends when this page is closed.")), el("div", { class: "holds" }, begin), this.#answer, this.#who, terminal);
  }

  #enable() {
    const begin = $("guide-begin"), { status, gone } = this.#watcher;
    const who = status?.calibrator?.who;
    this.#who.textContent = who && !this.#guide ? noteOf(who.text, [who]) : "";
    if (begin) begin.disabled = gone !== null || !status || status.job !== null || status.state === "maintenance";
  }

  #begin() {
    this.#answer.textContent = "";
    this.#guide = new Guide($("calibration"), this.#connection, (why) => this.#end(why));
  }

  async #end(why) {
    this.#guide = null;
    this.#answer.textContent = why ? t("The calibration has ended: {why}", { why }) : "";
    await this.#update();
    $("guide-begin")?.focus();
  }

  #table(values) {
    if (!values.length) return el("p", { class: "card" }, t("Nothing is calibrated yet: all values are from the profile."));
    const rows = values.filter(([, value]) => value === null || typeof value !== "object")
      .map(([key, value]) => el("tr", {}, el("td", {}, el("code", {}, key)), el("td", { class: "number" }, String(value))));
    const tables = values.filter(([, value]) => value !== null && typeof value === "object");
    return el("div", { class: "card" }, el("h2", {}, t("Calibrated values")),
      table(t("Calibrated values"), [[t("Key of the profile")], [t("Value"), "number"]], rows),
      tables.map(([key, value]) => el("details", {}, el("summary", {}, key), el("code", {}, JSON.stringify(value)))));
  }
}
