// Keepsakes of a run to view and share: its time-lapse, and its photographs in one picture.

import { t } from "./language.js";
import { el } from "./util.js";

const TIME_LAPSE = "time-lapse.webp";
const LOOK = /^scanning-\d+-[URFDLB]\.jpg$/;

/** True for the time-lapse among a run's files. */
export const isTimeLapse = (name) => name === TIME_LAPSE;

/** The time-lapse, loaded only when it is opened; null if there is none. */
export function timeLapse({ id, photos }) {
  if (!photos.includes(TIME_LAPSE)) return null;
  const run = Number(id), src = `/api/runs/${id}/files/${TIME_LAPSE}`;
  return keepsake("run-time-lapse", t("Time-lapse"), src, `run-${run}.webp`, t("Run {run} as a time-lapse", { run }));
}

/** The photographs in one picture; null if the run scanned no face. */
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
