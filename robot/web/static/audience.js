// For spectators: a full-screen view, and an address that only shows the robot.

import { reasonOf, seconds, spoken, t } from "./language.js";
import { $, Loader, ask, el } from "./util.js";

export class Audience {
  #watcher;
  #isKiosk = false;
  #loader = new Loader();

  constructor(watcher) {
    this.#watcher = watcher;
    watcher.addEventListener("change", () => this.#showToday());
    spoken.addEventListener("change", () => { this.#loader.forget(); this.#showToday(); });
    $("kiosk").addEventListener("click", () => {
      document.documentElement.requestFullscreen?.().catch(() => {});
      location.hash = "#/kiosk";
    });
    $("leave-kiosk").addEventListener("click", () => {
      if (document.fullscreenElement) document.exitFullscreen();
      location.hash = "#/live";
    });
    $("share").addEventListener("toggle", () => $("share").open && this.#share());
    $("withdraw").addEventListener("click", () => this.#withdraw());
  }

  setKiosk(isKiosk) {
    this.#isKiosk = isKiosk;
    document.body.classList.toggle("kiosk", isKiosk);
    $("leave-kiosk").hidden = !isKiosk;
    $("today").hidden = !isKiosk;
    this.#showToday();
  }

  /** Shows what was solved today, updated after each run. */
  async #showToday() {
    const now = new Date();
    const date = [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
    const key = `${date} ${this.#watcher.status?.last_run?.id}`;
    if (!this.#isKiosk) return;
    const found = await this.#loader.load(key, () => ask("GET", "/api/statistics")).catch(() => null);
    if (!found) return; // after a failure, the next change tries again
    const { days: [day], best_s: best } = found, isToday = day?.day === date && day.solved;
    $("today").textContent = !isToday ? "" : t("Today: {count} solved, fastest {time}, on average {mean}. Fastest of the runs kept: {best}", {
      count: day.solved, time: seconds(day.best_s), mean: seconds(day.mean_s), best: seconds(best),
    });
  }

  async #share() {
    try {
      const { url, code } = await ask("GET", "/api/viewers");
      $("viewer-url").replaceChildren(el("a", { href: url }, url));
      $("viewer-code").replaceChildren(drawCode(code));
    } catch (error) {
      $("viewer-url").textContent = reasonOf(error);
    }
  }

  async #withdraw() {
    try {
      await ask("POST", "/api/viewers/withdraw");
      await this.#share();
      $("answer").textContent = t("The old address no longer shows anything.");
    } catch (error) {
      await this.#share();
      $("answer").textContent = reasonOf(error);
    }
  }
}

/** A QR code from rows of 0 and 1, with the quiet margin of four modules that readers need. */
function drawCode(rows) {
  const size = rows.length + 8;
  const svg = el("svg", { viewBox: `0 0 ${size} ${size}`, class: "code", role: "img", "aria-label": t("The address as a QR code") });
  svg.append(el("rect", { width: size, height: size, fill: "#fff" }));
  const dark = rows.flatMap((row, y) => [...row].map((bit, x) => (bit === "1" ? `M${x + 4} ${y + 4}h1v1h-1z` : "")));
  svg.append(el("path", { d: dark.join(""), fill: "#000" }));
  return svg;
}
