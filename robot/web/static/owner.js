// The panel "Owner": check-up, profile, log, restart, and the controls of a simulated robot.

import { Hold } from "./hold.js";
import { LogCard } from "./log.js";
import { ProfileCard, notAllowed } from "./profile.js";
import { SimulationCard } from "./simulation.js";
import { causeOf, noteOf, reasonOf, remedyOf, spoken, t, when } from "./language.js";
import { $, ask, el, msg, prose } from "./util.js";

export class Owner {
  #watcher;
  #cards;
  #shown = false;
  #begun = false;

  constructor(watcher) {
    this.#watcher = watcher;
    this.#cards = [new SimulationCard(), new CheckUpCard(), new ProfileCard(), new LogCard(watcher), new RestartCard(watcher)];
    spoken.addEventListener("change", () => this.#render());
    watcher.addEventListener("change", () => this.#shown && this.#follow());
  }

  set shown(shown) {
    this.#shown = shown;
    for (const card of this.#cards) card.shown = shown;
    if (shown) this.#begin();
  }

  /** Reads the rights again: they may have changed, for example after a restart. */
  async #begin() {
    const rights = await ask("GET", "/api/manage").catch(() => ({ allowed: false, simulated: false }));
    for (const card of this.#cards) card.rights = rights;
    if (!this.#begun) $("owner").replaceChildren(...this.#cards.map((card) => card.element));
    this.#begun = true;
    this.#render();
    for (const card of this.#cards) card.load?.();
  }

  #render() {
    if (!this.#begun) return;
    for (const card of this.#cards) card.render();
    this.#follow();
  }

  #follow() {
    for (const card of this.#cards) card.follow?.(this.#watcher);
  }
}

const VERDICTS = { ok: [msg("All right"), "good"], warning: [msg("Warning"), "warn"], bad: [msg("Wrong"), "bad"] };

const SUBJECTS = {
  board: msg("Board"), boot: "config.txt", calibration: msg("Calibration"), camera: msg("Camera"), clock: msg("Clock"), daemon: msg("Service"), disk: msg("Disk"),
  drift: msg("Drift"), driver: msg("Motor driver"), firmware: msg("Firmware"), gpio: "GPIO", groups: msg("User groups"), line: msg("Serial line"),
  maestro: "Maestro", power: msg("Power supply"), profile: msg("Profile"), pwm: "PWM", robot: msg("Robot"), socket: msg("USB socket"),
};

/** The subject of a finding; it ends with the board's name if there are several boards. */
function subjectOf(about) {
  const [kind, ...board] = about.split(" ");
  return [t(SUBJECTS[kind] ?? kind), ...board].join(" ");
}

/** The findings of `cubist doctor`. */
class CheckUpCard {
  element = el("section", { class: "card", "aria-labelledby": "check-up-heading" });
  #found = null;
  #why = null;
  #isBusy = false;

  render() {
    const button = el("button", { class: "plain", id: "check-up", click: () => this.#check() }, t("Check now"));
    button.disabled = this.#isBusy;
    const answer = this.#isBusy ? t("Checking ...") : this.#why ? reasonOf(this.#why)
      : this.#found ? t("Checked at {time}", { time: when(this.#found.at) }) : "";
    this.element.replaceChildren(
      el("h2", { id: "check-up-heading" }, t("Check-up")),
      el("p", { class: "quiet small" }, t("Checks cameras, boards, permissions, disk, clock and power, like this command:"), " ", el("code", {}, "cubist doctor")),
      el("div", { class: "row links" }, button, el("p", { role: "status", id: "check-up-answer" }, answer)),
      el("ul", { class: "findings" }, (this.#found?.findings ?? []).map((found) => {
        const [word, style] = VERDICTS[found.verdict] ?? VERDICTS.warning;
        const fault = { ...found, code: found.fault, cause: found.text };
        const text = found.fault ? causeOf(fault) : noteOf(found.text, found.notes);
        const remedy = remedyOf(fault);
        return el("li", {}, el("p", {}, el("b", { class: style }, t(word)), " ", el("b", {}, subjectOf(found.about)), " ", prose(text)),
          remedy ? el("p", { class: "remedy" }, prose(remedy)) : null);
      })));
  }

  async #check() {
    this.#isBusy = true;
    this.#why = null;
    this.render();
    try {
      this.#found = await ask("POST", "/api/checkup", {});
    } catch (error) {
      this.#why = error;
    }
    this.#isBusy = false;
    this.render();
    $("check-up").focus();
  }
}

/** Restarts the daemon, which activates a kept profile. */
class RestartCard {
  element = el("section", { class: "card", "aria-labelledby": "restart-heading" });
  rights = null;
  #watcher;
  #button = el("button", { class: "hold", id: "restart", "data-always": "" });
  #answer = el("p", { role: "status", id: "restart-answer" });
  #force = false;
  #process = null;

  constructor(watcher) {
    this.#watcher = watcher;
    new Hold(this.#button, () => this.#restart(), (text) => { this.#answer.textContent = text; });
  }

  render() {
    const shown = this.rights?.allowed
      ? [el("div", { class: "holds" }, this.#button)]
      : [el("p", { class: "quiet" }, notAllowed())];
    this.element.replaceChildren(
      el("h2", { id: "restart-heading" }, t("Restart")),
      el("p", { class: "quiet small" }, t("Ends cubistd and starts it again, which puts a kept profile in force. The robot has to home again. In a terminal:"), " ", el("code", {}, "cubist restart")),
      ...shown, this.#answer);
  }

  /** Labels the button: if the robot is busy, the label says that it stops the robot. */
  follow({ status, gone }) {
    if (!status) return;
    this.#force = status.job !== null || status.calibrating;
    const label = this.#force ? t("Stop the robot and restart") : t("Restart");
    if (this.#button.textContent !== label) this.#button.textContent = label;
    this.#button.disabled = gone !== null;
    if (this.#process === null || gone !== null || status.process === this.#process) return;
    this.#process = null;
    this.#answer.textContent = t("cubistd has started again.");
  }

  async #restart() {
    const process = this.#watcher.status.process;
    try {
      await ask("POST", "/api/restart", { force: this.#force });
      this.#process = process;
      this.#answer.textContent = t("cubistd is restarting ...");
    } catch (error) {
      this.#answer.textContent = t("Not restarted: {why}", { why: reasonOf(error) });
    }
  }
}
