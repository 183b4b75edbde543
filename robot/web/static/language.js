// The language of the page: the browser's, or the one chosen here. One file has its texts.

import { $, el } from "./util.js";

const KEPT = "cubist-language";
const SPOKEN = ["en", "de", "es", "it", "ja"];

let texts = { language: "en", languages: {}, states: {}, outcomes: {}, endings: {}, faults: {}, english: {}, steps: {}, notes: {}, stages: {}, parts: {}, operations: {}, page: {}, calibration: {} };

/** Translates an English text of the page and fills its {placeholders}. */
export const t = (english, values = {}) => fill(texts.page[english] ?? english, values);

/** Translates a text of the guided calibration and fills its {placeholders}; findings stay English. */
export const guided = (english, values = {}) => fill(texts.calibration[english] ?? english, values);

export const stateName = (code) => texts.states[code] ?? code;
export const outcomeName = (code) => texts.outcomes[code] ?? code;

/** The meaning of an outcome, given its English sentence. */
export const endingOf = (reason) => texts.endings[reason] ?? reason;

/** The cause of a fault; details from the robot without a translation stay English, in brackets. */
export function causeOf({ code, cause, detail, notes }) {
  const told = noteOf(cause, notes);
  if (told !== cause) return told;
  const ours = texts.faults[code], theirs = texts.english[code];
  if (!ours || !theirs) return cause;
  const usual = ([about, why], part) => `${about}${part ? ` (${part})` : ""}: ${why}`;
  if (cause === theirs[0]) return ours[0];
  return cause === usual(theirs, detail) ? usual(ours, partName(detail)) : `${ours[0]} [${cause}]`;
}

export function remedyOf({ code, remedy, notes }) {
  return remedy === texts.english[code]?.[2] ? texts.faults[code][2] : noteOf(remedy, notes);
}

/** The step of a job, given a document that contains it. */
export function stepOf({ step, step_code: code, step_parameters: values }) {
  if (texts.language === "en" || !texts.steps[code]) return step;
  const fault = texts.faults[values.fault]?.[0] ?? values.fault;
  const time = values.seconds && figures(1).format(values.seconds);
  return fill(texts.steps[code], { ...values, fault, seconds: time });
}

/** A recovery or warning, given a document with its notes. */
export function noteOf(told, notes = []) {
  const found = notes.find((note) => note.text === told);
  return found ? noted(told, found.code, found.parameters) : told;
}

/** The reason for a refusal, given its error; a reason without a code or translation stays English. */
export function reasonOf(error) {
  const { fault, reason_code: code, reason_parameters: values } = error.answer ?? {};
  if (fault && texts.english[fault]) return texts.faults[fault][0];
  return code ? noted(error.message, code, values) : t(error.message);
}

function noted(english, code, values) {
  if (texts.language === "en" || !texts.notes[code]) return english;
  const fault = texts.faults[values.fault]?.[0] ?? values.fault;
  // Some notes refer to others by their codes.
  const inner = (name) => fill(texts.notes[values[name]] ?? "", values);
  return fill(texts.notes[code], { ...values, fault, actuator: partName(values.actuator), state: stateName(values.state), before: stateName(values.before), what: inner("what"), remedy: inner("remedy") });
}

export const stageName = (code) => texts.stages[code] ?? code;

/** An operation of a plan in words; the key is its entry in the server's table of operations. */
export function operationWords(o) {
  const place = o.site ?? o.axis ?? o.gripper ?? o.to ?? o.rows;
  const key = [o.op, place, o.quarter_turns, o.layers > 1 ? "several" : undefined].filter((word) => word !== undefined).join(" ");
  const words = texts.operations[key] ?? texts.operations[o.op];
  return words ? fill(words, { ...o, part: partName(o.arm) }) : o.op;
}

/** The name of a part of the robot; a name given by its owner is not translated. */
export const partName = (name) => texts.parts[name] ?? name;

export const seconds = (s, digits = 1) => `${figures(digits).format(s)}\u00a0s`;

export function when(time) {
  return new Date(time).toLocaleString(locale(), { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
}

export const whole = (count) => count.toLocaleString(locale());

/** Sends "change" when the language changes, so that all panels update their texts. */
export const spoken = new EventTarget();

/** Loads the texts and inserts them into the page, before anything else is shown. */
export async function speak() {
  const language = kept() ?? (navigator.languages ?? []).map((l) => l.slice(0, 2)).find((l) => SPOKEN.includes(l)) ?? "en";
  rememberDocument();
  await load(language);
  const names = Object.entries(texts.languages).map(([code, name]) =>
    el("option", { value: code, lang: code, selected: code === texts.language }, name));
  $("language").replaceChildren(...names);
  $("language").addEventListener("change", async ({ target }) => {
    keep(target.value);
    await load(target.value);
    target.value = texts.language;
    spoken.dispatchEvent(new Event("change"));
  });
}

async function load(language) {
  try {
    const answer = await fetch(`/static/${language}.json`);
    if (answer.ok) texts = await answer.json();
  } catch {
    // The page stays as it is; other parts report that the server does not answer.
  }
  made.clear();
  document.documentElement.lang = texts.language;
  translateDocument();
}

/** The texts of the page itself: the position and the English of each. */
const written = [];

function rememberDocument() {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const english = node.data.trim();
    if (english) written.push({ english, now: english, read: () => node.data, write: (text) => { node.data = text; } });
  }
  for (const labelled of document.querySelectorAll("[aria-label]")) {
    const english = labelled.getAttribute("aria-label");
    written.push({ english, now: english, read: () => labelled.getAttribute("aria-label"), write: (text) => labelled.setAttribute("aria-label", text) });
  }
}

/** Translates the texts, except those that a panel has replaced. */
function translateDocument() {
  for (const text of written) {
    const shown = text.read();
    if (shown.trim() !== text.now) continue;
    const translated = t(text.english);
    text.write(shown.replace(text.now, () => translated));
    text.now = translated;
  }
}

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

/** The locale for dates and numbers: the browser's regional variant if it has the same language. */
function locale() {
  return navigator.language.startsWith(texts.language) ? navigator.language : texts.language;
}

const made = new Map();

function figures(digits) {
  if (!made.has(digits)) {
    made.set(digits, new Intl.NumberFormat(locale(), { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false }));
  }
  return made.get(digits);
}

// Private windows may not have storage.
function kept() {
  try {
    const language = localStorage.getItem(KEPT);
    return SPOKEN.includes(language) ? language : null;
  } catch {
    return null;
  }
}

function keep(language) {
  try {
    localStorage.setItem(KEPT, language);
  } catch {
    // Next time the page has the browser's language again.
  }
}
