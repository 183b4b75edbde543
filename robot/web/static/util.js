// Small functions for all panels.

export const $ = (id) => document.getElementById(id);

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "rect", "line", "path", "text", "g", "circle", "ellipse", "polygon", "title"]);

/** Creates an element with attributes (functions are event listeners) and children; skips false ones. */
export function el(tag, attributes = {}, ...children) {
  const made = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((c) => c !== null && c !== false && c !== undefined));
  return made;
}

/** A text as children of an element, with `commands` as code. */
export const prose = (text) => text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));

/** True if a run achieved its purpose. */
export const endedWell = (outcome) => ["solved", "already-solved", "done"].includes(outcome);

/** A table that scrolls sideways; `heads` are texts, each with an optional class. */
export function table(label, heads, rows, kind = "table") {
  const head = heads.map(([text, style]) => el("th", { scope: "col", class: style }, text));
  return el("div", { class: kind, tabindex: 0, role: "group", "aria-label": label },
    el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)));
}

/** A list of names and values; omits names without a value. */
export function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { class: "facts" }, known.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** A WebSocket to a path of our own server. */
export const socketTo = (path) => new WebSocket(`ws${location.protocol === "https:" ? "s" : ""}://${location.host}${path}`);

/** Marks an English text of the page that is translated when it is shown. */
export const msg = (english) => english;

/** `answer`: the document of a refusal, which may have a code for translation. */
export class Refused extends Error {
  constructor(reason, answer = null) {
    super(reason);
    this.answer = answer;
  }
}
export class NoSession extends Refused {}

/** Sends a request to our own server; returns the answer's document. Throws Refused with the reason. */
export async function ask(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: { "X-Cubist": "1", ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch {
    throw new Refused(msg("the page's server does not answer"));
  }
  const found = await response.json().catch(() => ({}));
  if (response.ok) return found;
  throw new (response.status === 401 ? NoSession : Refused)(found.reason || msg("refused"), found);
}

/** Loads once for each key. Forgets the key of a failed request, and drops an answer that comes late. */
export class Loader {
  #latest = null;

  /** The answer to `request`; null if it is loaded already, under way, or came after a later request. */
  async load(key, request) {
    if (this.#latest?.key === key) return null;
    const ours = this.#latest = { key };
    try {
      const answer = await request();
      return this.#latest === ours ? answer : null;
    } catch (error) {
      if (this.#latest !== ours) return null;
      this.#latest = null;
      throw error;
    }
  }

  /** Forgets the key, and drops the answer to a request under way. */
  forget() {
    this.#latest = null;
  }
}

export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** A colour of the style sheet, for canvases. */
export function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
