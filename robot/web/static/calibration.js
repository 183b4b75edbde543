// The panel "Calibration": what is calibrated. It is changed with the guide, `cubist calibrate`.

import { reasonOf, t } from "./language.js";
import { $, ask, el } from "./util.js";

export class Calibration {
  #watcher;

  constructor(watcher) {
    this.#watcher = watcher;
  }

  set shown(shown) {
    if (shown) this.#update();
  }

  async #update() {
    try {
      const { values } = await ask("GET", "/api/calibration");
      $("calibration").replaceChildren(this.#guide(), this.#table(Object.entries(values)));
    } catch (error) {
      $("calibration").replaceChildren(el("p", { class: "card" }, reasonOf(error)));
    }
  }

  #guide() {
    const name = this.#watcher.status?.robot ?? "NAME";
    return el("div", { class: "card" }, el("h2", {}, t("Calibrate")),
      el("p", {}, t("Somebody who stands at the robot calibrates it in a terminal. While that lasts, nobody can start anything from here. The command:"), " ",
        el("code", {}, `cubist calibrate all --robot ${name}`)));
  }

  #table(values) {
    if (!values.length) return el("p", { class: "card" }, t("Nothing is calibrated yet: all values are those of the profile."));
    const rows = values.filter(([, value]) => value === null || typeof value !== "object")
      .map(([key, value]) => el("tr", {}, el("td", {}, el("code", {}, key)), el("td", { class: "number" }, String(value))));
    const tables = values.filter(([, value]) => value !== null && typeof value === "object");
    return el("div", { class: "card" }, el("h2", {}, t("Calibrated values")),
      el("div", { class: "table", tabindex: 0, role: "group", "aria-label": t("Calibrated values") }, el("table", {},
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("Key of the profile")), el("th", { scope: "col", class: "number" }, t("Value")))),
        el("tbody", {}, rows))),
      tables.map(([key, value]) => el("details", {}, el("summary", {}, key), el("code", {}, JSON.stringify(value)))));
  }
}
