// The log of the daemon: its latest lines of a level, as they arrive.

import { t } from "./language.js";
import { ask, el, msg } from "./util.js";

const EVERY_MS = 2000;
const MOST = 400;
const LEVELS = { debug: msg("Everything"), info: msg("Information and above"), warning: msg("Warnings and errors"), error: msg("Errors only") };

export class LogCard {
  element = el("section", { class: "card", "aria-labelledby": "log-heading" });
  #level = el("select", { id: "log-level" });
  #list = el("div", { class: "log", id: "log", tabindex: 0, role: "log" });
  #watcher;
  #shown = false;
  #latest = 0;
  #timer = null;
  #asked = 0;

  constructor(watcher) {
    this.#watcher = watcher;
    for (const level of Object.keys(LEVELS)) this.#level.append(el("option", { value: level }));
    this.#level.value = "info";
    this.#level.addEventListener("change", () => this.#begin());
  }

  set shown(shown) {
    this.#shown = shown;
    clearTimeout(this.#timer);
    if (shown) this.#begin();
  }

  render() {
    for (const option of this.#level.options) option.textContent = t(LEVELS[option.value]);
    this.#list.setAttribute("aria-label", t("Log"));
    this.element.replaceChildren(
      el("div", { class: "row links" }, el("h2", { id: "log-heading" }, t("Log")),
        el("label", { for: "log-level" }, t("Show")), this.#level),
      this.#list,
      el("p", { class: "quiet small" }, t("The latest lines of cubistd, as they come. All of them, in a terminal:"), " ", el("code", {}, "cubist logs")));
  }

  #begin() {
    this.#latest = 0;
    this.#list.replaceChildren();
    this.#asked += 1;
    this.#ask(this.#asked);
  }

  /** Requests new lines; `turn` ends the requests for an earlier level. */
  async #ask(turn) {
    clearTimeout(this.#timer);
    if (document.visibilityState === "visible" && this.#watcher.gone === null) {
      const asked = `/api/log?level=${this.#level.value}&after=${this.#latest}&count=${MOST}`;
      const found = await ask("GET", asked).catch(() => null);
      if (turn !== this.#asked || !this.#shown) return;
      if (found) this.#show(found);
    }
    this.#timer = setTimeout(() => this.#ask(turn), EVERY_MS);
  }

  #show({ lines, latest }) {
    const list = this.#list, isAtEnd = list.scrollTop + list.clientHeight > list.scrollHeight - 8;
    if (latest < this.#latest) list.replaceChildren(); // a new log was started
    this.#latest = latest;
    list.append(...lines.map(({ time, level, text }) => el("p", { "data-level": level },
      el("time", { datetime: time }, new Date(time).toLocaleTimeString()), " ", text)));
    while (list.children.length > MOST) list.firstChild.remove();
    if (lines.length && isAtEnd) list.scrollTop = list.scrollHeight;
  }
}
