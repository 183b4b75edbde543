// "Another goal": a pattern, a state or moves for the robot to perform.

import { CubeDrawing, CubeModel, plainColour } from "./cube.js";
import { Hold } from "./hold.js";
import { cubeTheme, tellStarted } from "./live.js";
import { reasonOf, t } from "./language.js";
import { $, ask, el } from "./util.js";

export class GoalForm {
  constructor() {
    new Hold($("solve-to-goal"), () => this.#start($("solve-to-goal"), { kind: "solve", to: $("goal").value.trim(), centres: $("keep-centres").checked }));
    new Hold($("scramble-with-moves"), () => this.#start($("scramble-with-moves"), { kind: "scramble", moves: $("goal").value.trim() }));
    $("another-goal").addEventListener("toggle", () => $("another-goal").open && this.#list());
  }

  async #list() {
    try {
      const { patterns, facelets } = await ask("GET", "/api/patterns");
      const choose = (name) => () => { $("goal").value = name; };
      const shown = Object.entries(patterns).map(([name, about]) => {
        const canvas = facelets?.[name] ? el("canvas", { "aria-hidden": "true" }) : null;
        return { canvas, name, button: el("button", { class: "plain pattern", title: about, click: choose(name) }, canvas, name) };
      });
      $("patterns").replaceChildren(...shown.map(({ button }) => button));
      for (const { canvas, name } of shown) if (canvas) drawPattern(canvas, facelets[name]);
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
      tellStarted(button);
    } catch (error) {
      $("answer").textContent = t("Not started: {why}", { why: reasonOf(error) });
    }
  }
}

/** Draws a cube with a pattern. */
function drawPattern(canvas, facelets) {
  const model = new CubeModel(Math.sqrt(facelets.length / 6));
  new CubeDrawing(canvas, { turnable: false }).draw({ model, moving: [] }, [...facelets].map(plainColour), cubeTheme());
}
