// What a run leaves to look at and to pass on: its time-lapse, and its photographs as one picture.

import { t } from "./language.js";
import { el } from "./util.js";

const TIME_LAPSE = "time-lapse.webp";
const LOOK = /^scanning-\d+-[URFDLB]\.jpg$/;

/** True for a file of a run that is no photograph. */
export const isTimeLapse = (name) => name === TIME_LAPSE;

/** The time-lapse, which moves only while somebody has opened it; null if there is none. */
export function timeLapse({ id, photos }) {
  if (!photos.includes(TIME_LAPSE)) return null;
  const run = Number(id), src = `/api/runs/${id}/files/${TIME_LAPSE}`;
  return keepsake("run-time-lapse", t("Time-lapse"), src, `run-${run}.webp`, t("Run {run} as a time-lapse", { run }));
}

/** The photographs as one picture; null if the run looked at no face. */
export function collage({ id, photos }) {
  if (!photos.some((name) => LOOK.test(name))) return null;
  const run = Number(id);
  return keepsake("run-collage", t("All faces in one picture"), `/api/runs/${id}/collage`, `run-${run}.jpg`,
    t("The six faces of run {run} unfolded, each sticker with the colour that was read", { run }));
}

function keepsake(id, title, src, file, alt) {
  return el("details", { class: "card keepsake", id }, el("summary", {}, title),
    el("img", { src, alt, loading: "lazy" }), el("p", {}, el("a", { href: src, download: file }, t("Download"))));
}
