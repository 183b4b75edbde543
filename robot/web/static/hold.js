// Buttons that must be held down to start something.

import { t } from "./language.js";
import { $ } from "./util.js";

const HOLD_MS = 800;
const ARMED_MS = 5000;

/** A button that must be held down; with a screen reader it must be activated twice instead. */
export class Hold {
  #timer = null;
  #armedUntil = 0;

  /** `tell`: shows instructions, for example if the button was released too early. */
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
    // Keys cause no click here, so a click without a pointer is from a screen reader, which cannot hold.
    button.addEventListener("click", (e) => this.#click(e));
  }

  #press() {
    if (this.button.disabled || this.#timer) return;
    this.button.classList.add("held");
    this.#timer = setTimeout(() => { this.#release(); this.act(); }, HOLD_MS);
  }

  /** Explains why nothing has happened if the button was released too early. */
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
