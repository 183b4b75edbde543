// "Another goal": a pattern, a state or moves to which the robot turns its cube.

import { Hold } from "./hold.js";
import { reasonOf, t } from "./language.js";
import { $, ask, el, msg } from "./util.js";

export class GoalForm {
  constructor() {
    new Hold($("solve-to-goal"), () => this.#start($("solve-to-goal"), { kind: "solve", to: $("goal").value.trim(), centres: $("keep-centres").checked }));
    new Hold($("scramble-with-moves"), () => this.#start($("scramble-with-moves"), { kind: "scramble", moves: $("goal").value.trim() }));
    $("another-goal").addEventListener("toggle", () => $("another-goal").open && this.#list());
  }

  async #list() {
    try {
      const { patterns } = await ask("GET", "/api/patterns");
      const choose = (name) => () => { $("goal").value = name; };
      $("patterns").replaceChildren(...Object.entries(patterns).map(([name, about]) => el("button", { class: "plain", title: about, click: choose(name) }, name)));
    } catch (error) {
      $("answer").textContent = reasonOf(error);
    }
  }

  async #start(button, request) {
    if (!$("goal").value.trim()) {
      $("answer").textContent = t("Write or choose a goal first.");
      return $("goal").focus();
    }
    try {
      await ask("POST", "/api/start", request);
      $("answer").textContent = t(msg("{what}: started"), { what: button.textContent });
    } catch (error) {
      $("answer").textContent = t("Not started: {why}", { why: reasonOf(error) });
    }
  }
}
