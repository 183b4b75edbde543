// Buttons that start something only when they are held down.

import { t } from "./language.js";
import { $ } from "./util.js";

const HOLD_MS = 800;
const ARMED_MS = 5000;

/** A button that starts something only when it is held down; a screen reader asks a second time. */
export class Hold {
  #timer = null;
  #armedUntil = 0;

  /** `tell`: shows what somebody who cannot hold has to do. */
  constructor(button, act, tell = (text) => { $("answer").textContent = text; }) {
    this.button = button;
    this.act = act;
    this.tell = tell;
    button.addEventListener("pointerdown", (e) => { if (e.button === 0) this.#press(); });
    button.addEventListener("pointerup", () => this.#letGo());
    for (const kind of ["pointerleave", "pointercancel", "blur"]) button.addEventListener(kind, () => this.#release());
    button.addEventListener("keydown", (e) => {
      if (e.key !== " " && e.key !== "Enter") return;
      e.preventDefault();
      if (!e.repeat) this.#press();
    });
    button.addEventListener("keyup", (e) => { e.preventDefault(); this.#letGo(); });
    button.addEventListener("contextmenu", (e) => e.preventDefault());
    // A click of no pointer, while keys make none here, is a screen reader's, which cannot hold.
    button.addEventListener("click", (e) => this.#click(e));
  }

  #press() {
    if (this.button.disabled || this.#timer) return;
    this.button.classList.add("held");
    this.#timer = setTimeout(() => { this.#release(); this.act(); }, HOLD_MS);
  }

  /** Whoever let go too early learns why nothing has happened. */
  #letGo() {
    if (this.#timer) this.tell(t("{what}: hold it down to start.", { what: this.button.textContent }));
    this.#release();
  }

  #release() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.button.classList.remove("held");
  }

  #click(event) {
    event.preventDefault();
    if (event.detail !== 0 || this.button.disabled) return;
    if (performance.now() < this.#armedUntil) {
      this.#armedUntil = 0;
      this.act();
    } else {
      this.#armedUntil = performance.now() + ARMED_MS;
      this.tell(t("{what}: activate it again within five seconds to start.", { what: this.button.textContent }));
    }
  }
}
