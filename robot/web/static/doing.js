// The robot's current operations and the next one, in plain words.

import { operationWords, t } from "./language.js";
import { $ } from "./util.js";

export class Doing {
  #watcher;
  #sorted = [];
  #motion = null;

  constructor(watcher) {
    this.#watcher = watcher;
    const paint = () => { this.#paint(); requestAnimationFrame(paint); };
    requestAnimationFrame(paint);
  }

  #paint() {
    const { motion, atUs, isMoving } = this.#watcher;
    if (motion !== this.#motion) {
      this.#motion = motion;
      this.#sorted = [...(motion?.operations ?? [])].sort((p, q) => p.start_us - q.start_us);
    }
    const now = isMoving ? this.#sorted.filter((o) => o.start_us <= atUs && atUs < o.start_us + o.duration_us) : [];
    const next = isMoving ? this.#sorted.find((o) => o.start_us > atUs) : null;
    show($("doing"), now.map(operationWords).join(" \u00b7 "));
    show($("doing-next"), next ? t("Next: {what}", { what: operationWords(next) }) : "");
  }
}

function show(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
