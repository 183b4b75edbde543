// Controls of a simulated robot: inserting and removing cubes, and injecting faults for a class.

import { partName, reasonOf, t } from "./language.js";
import { ask, el, msg } from "./util.js";

const FAULTS = {
  "slip": msg("The cube slips"),
  "jam": msg("A part jams"),
  "lost-steps": msg("A motor loses steps"),
  "end-stop": msg("An end stop never closes"),
  "glare": msg("A lamp is reflected in the cube"),
  "cast": msg("The light is yellow"),
  "wrong-sticker": msg("A sticker has the wrong colour"),
  "reset": msg("The board restarts"),
  "unplug": msg("The cable is unplugged for a moment"),
  "noise": msg("The cable is noisy"),
  "no-cube": msg("There is no cube"),
  "two-cubes": msg("There are two cubes"),
  "wrong-size": msg("The cube has another size"),
  "hand": msg("A hand is in the picture"),
};

export class SimulationCard {
  element = el("section", { class: "card", "aria-labelledby": "simulation-heading" });
  rights = null;
  shown = false;
  #moves = el("input", { id: "simulation-moves", autocapitalize: "none", autocomplete: "off", spellcheck: "false", maxlength: 2000 });
  #fault = el("select", { id: "simulation-fault" });
  #subject = el("select", { id: "simulation-subject" });
  #answer = el("p", { id: "simulation-answer", role: "status" });
  #faults = null;
  #resting = [];

  constructor() {
    this.#fault.addEventListener("change", () => this.#renderSubjects());
  }

  async load() {
    if (!this.rights?.simulated || this.#faults) return;
    try {
      ({ faults: this.#faults } = await ask("GET", "/api/simulation"));
    } catch (error) {
      this.#answer.textContent = reasonOf(error);
    }
    this.render();
  }

  render() {
    this.element.hidden = !this.rights?.simulated;
    if (this.element.hidden) return;
    const button = (id, text, act) => el("button", { class: "plain", id, click: act }, text);
    const put = button("simulation-scramble", t("Put in a scrambled cube"), () => this.#do({ do: "scramble", seed: Math.floor(Math.random() * 1e6) }));
    const own = button("simulation-own", t("Put in a cube after these moves"), () => this.#do({ do: "scramble", moves: this.#moves.value.trim() }));
    const remove = button("simulation-remove", t("Take the cube out"), () => this.#do({ do: "remove" }));
    const insert = button("simulation-insert", t("Put the cube back"), () => this.#do({ do: "insert" }));
    const happen = button("simulation-happen", t("Let it happen"), () => this.#happen());
    const mend = button("simulation-mend", t("Mend everything"), () => this.#do({ do: "mend" }));
    this.#resting = [put, own, remove, insert];
    const chosen = this.#fault.value;
    this.#fault.replaceChildren(...Object.keys(this.#faults ?? {}).map((name) => el("option", { value: name, selected: name === chosen }, t(FAULTS[name] ?? name))));
    this.#renderSubjects();
    this.element.replaceChildren(
      el("h2", { id: "simulation-heading" }, t("Simulated robot")),
      el("div", { class: "row links" }, put, remove, insert),
      el("label", { for: "simulation-moves" }, t("Moves from the solved cube")),
      el("div", { class: "row links together" }, this.#moves, own),
      el("label", { for: "simulation-fault" }, t("Fault")),
      el("div", { class: "row links together" }, this.#fault, this.#subject, happen, mend),
      this.#answer);
  }

  /** Disables the controls while the robot is busy. */
  follow({ status, gone }) {
    const busy = gone !== null || !status || status.job !== null || status.state === "maintenance";
    for (const button of this.#resting) button.disabled = busy;
  }

  #renderSubjects() {
    const subjects = this.#faults?.[this.#fault.value] ?? [];
    this.#subject.hidden = !subjects.length;
    this.#subject.setAttribute("aria-label", t("Part that has the fault"));
    this.#subject.replaceChildren(...subjects.map((name) => el("option", { value: name }, partName(name))));
  }

  #happen() {
    const subject = this.#subject.hidden ? "" : `:${this.#subject.value}`;
    this.#do({ do: "fault", fault: `${this.#fault.value}${subject}` });
  }

  async #do(request) {
    try {
      await ask("POST", "/api/simulation", request);
      this.#answer.textContent = t("Done.");
    } catch (error) {
      this.#answer.textContent = t("Not done: {why}", { why: reasonOf(error) });
    }
  }
}
