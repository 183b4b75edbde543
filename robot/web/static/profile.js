// The robot's profile: view, edit, check, keep, and restore an earlier version.

import { reasonOf, t, when } from "./language.js";
import { ask, el, msg } from "./util.js";

const CHECK_AFTER_MS = 700;

/** Instructions for the owner to allow management of the robot from this page. */
export const notAllowed = () => t("To do this here, set CUBIST_WEB_MANAGE=yes in the settings of cubist-web on the robot.");

export class ProfileCard {
  element = el("section", { class: "card", "aria-labelledby": "profile-heading" });
  rights = null;
  shown = false;
  #text = el("textarea", { id: "profile-text", rows: 16, wrap: "off", spellcheck: "false", autocapitalize: "none", autocomplete: "off", "aria-labelledby": "profile-heading", "aria-describedby": "profile-verdict" });
  #verdict = el("p", { id: "profile-verdict", role: "status" });
  #complaints = el("ul", { class: "findings", id: "profile-complaints" });
  #answer = el("p", { id: "profile-answer", role: "status" });
  #keep = el("button", { class: "plain", id: "profile-keep", click: () => this.#store("PUT", "/api/profile", { text: this.#text.value }) });
  #discard = el("button", { class: "plain", id: "profile-discard", click: () => this.#open(this.#inForce) });
  #versions = el("details", { id: "profile-versions" });
  #inForce = null;
  #opened = "";
  #known = [];
  #checked = null;
  #timer = null;
  #said = ["", {}];

  constructor() {
    this.#text.addEventListener("input", () => this.#changed());
  }

  /** Loads the profile in force, but never replaces changes in progress. */
  async load() {
    try {
      const [profile, { versions }] = await Promise.all([ask("GET", "/api/profile"), ask("GET", "/api/profile/versions")]);
      this.#inForce = profile;
      this.#known = versions;
      if (!this.#isChanged) this.#open(profile);
    } catch (error) {
      this.#say(msg("The profile cannot be shown: {why}"), { why: reasonOf(error) });
    }
    this.render();
  }

  render() {
    this.#keep.textContent = t("Keep");
    this.#discard.textContent = t("Discard changes");
    this.#renderVerdict();
    this.#renderVersions();
    const [english, values] = this.#said;
    this.#answer.textContent = english ? t(english, values) : "";
    const { version, running, file } = this.#inForce ?? {};
    this.element.replaceChildren(
      el("h2", { id: "profile-heading" }, t("Profile of the robot")),
      el("p", { class: "quiet small" }, t("A change takes effect after a restart. Nothing is lost: each version that you keep has its date, and the original file stays as it is."), " ", el("code", {}, file ?? "")),
      ...(version === running ? [] : [el("p", { class: "warn" }, t("The robot still uses version {running}. Version {version} takes effect after a restart.", { running, version }))]),
      this.#text, this.#verdict, this.#complaints,
      this.rights?.allowed ? el("div", { class: "row links" }, this.#keep, this.#discard)
        : el("div", {}, el("p", { class: "quiet" }, notAllowed()), el("div", { class: "row links" }, this.#discard)),
      this.#answer, this.#versions);
  }

  get #isChanged() {
    return this.#inForce !== null && this.#text.value !== this.#opened;
  }

  #open(profile) {
    clearTimeout(this.#timer);
    this.#opened = this.#text.value = profile.text;
    // A file may have other line ends than a text area.
    this.#opened = this.#text.value;
    this.#checked = null;
    this.#renderVerdict();
  }

  #changed() {
    this.#checked = null;
    this.#say("");
    this.#renderVerdict();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#check(), CHECK_AFTER_MS);
  }

  async #check() {
    const text = this.#text.value;
    try {
      const found = await ask("POST", "/api/profile/check", { text });
      if (text !== this.#text.value) return;
      this.#checked = found;
    } catch (error) {
      this.#checked = { ok: false, why: error, complaints: [] };
    }
    this.#renderVerdict();
  }

  #renderVerdict() {
    const found = this.#checked, isChanged = this.#isChanged;
    this.#verdict.textContent = found?.ok ? t("All right: {title}", found)
      : found?.why ? t("Not checked: {why}", { why: reasonOf(found.why) })
      : found ? t("This profile cannot be used. It is not kept until it is right.")
      : isChanged ? t("Checking ...") : "";
    this.#verdict.className = found ? (found.ok ? "good" : "bad") : "quiet";
    this.#complaints.replaceChildren(...(found?.complaints ?? []).map(({ line, key, text }) => {
      const place = line ? el("button", { class: "line", click: () => this.#goTo(line) }, t("Line {line}", { line })) : null;
      return el("li", {}, place, " ", key ? el("code", {}, key) : null, " ", text);
    }));
    this.#keep.disabled = !(isChanged && found?.ok);
    this.#discard.disabled = !isChanged;
  }

  #goTo(line) {
    const lines = this.#text.value.split("\n"), before = lines.slice(0, line - 1).join("\n").length;
    const start = before + (line > 1 ? 1 : 0);
    this.#text.focus();
    this.#text.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    this.#text.scrollTop = (line - 4) * parseFloat(getComputedStyle(this.#text).lineHeight);
  }

  #renderVersions() {
    const rows = this.#known.map((one) => {
      const name = one.version === 0 ? t("The original file") : t("Version {version}", one);
      const about = [one.at ? when(one.at) : "", one.is_original && one.version ? t("the original file again") : "",
        one.is_running ? t("the robot uses it") : "", one.is_in_force ? t("in force") : ""].filter(Boolean).join(", ");
      const back = this.rights?.allowed && !one.is_in_force
        ? el("button", { class: "plain", "data-version": one.version, click: () => this.#store("POST", "/api/profile/restore", { version: one.version }) }, t("Go back to this"))
        : null;
      return el("li", { class: "row" }, el("span", {}, el("b", {}, name), about ? `: ${about}` : ""),
        el("span", { class: "row" }, el("button", { class: "plain", click: () => this.#view(one.version) }, t("View")), back));
    });
    this.#versions.replaceChildren(el("summary", {}, t("Versions")), el("ul", { class: "versions" }, rows));
  }

  async #view(version) {
    if (this.#isChanged) return this.#refuse();
    try {
      const profile = await ask("GET", `/api/profile/versions/${version}`);
      if (this.#isChanged) return this.#refuse();
      this.#open(profile);
      this.#say(msg("This is version {version}."), { version });
    } catch (error) {
      this.#say(msg("The profile cannot be shown: {why}"), { why: reasonOf(error) });
    }
  }

  async #store(method, path, body) {
    if (!("text" in body) && this.#isChanged) return this.#refuse();
    try {
      const { version } = await ask(method, path, body);
      // A person may have typed since.
      this.#opened = body.text ?? this.#opened;
      await this.load();
      this.#say(msg("Version {version} is kept. It takes effect after a restart."), { version });
    } catch (error) {
      this.#say(msg("Not kept: {why}"), { why: reasonOf(error) });
    }
  }

  #refuse() {
    this.#say(msg("Keep or discard your changes first."));
  }

  #say(english, values = {}) {
    this.#said = [english, values];
    this.#answer.textContent = english ? t(english, values) : "";
  }
}
