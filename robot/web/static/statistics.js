// The panel "Statistics": times as a histogram and a trend, outcomes, the serial line, records.

import { outcomeName, reasonOf, seconds, spoken, t, whole } from "./language.js";
import { $, Loader, ask, el, facts, msg, table } from "./util.js";

const ASKED = 300, DAYS = 14;
const WIDTH = 560, HEIGHT = 220, LEFT = 46, BOTTOM = 28;

export class Statistics {
  #watcher;
  #shown = false;
  #loader = new Loader();

  constructor(watcher) {
    this.#watcher = watcher;
    watcher.addEventListener("change", () => this.#shown && this.#update());
    spoken.addEventListener("change", () => {
      this.#loader.forget();
      if (this.#shown) this.#update();
    });
  }

  set shown(shown) {
    this.#shown = shown;
    if (shown) this.#update();
  }

  async #update() {
    const last = String(this.#watcher.status?.last_run?.id);
    try {
      const found = await this.#loader.load(last, () => Promise.all([ask("GET", `/api/runs?count=${ASKED}`), ask("GET", "/api/statistics")]));
      if (found) $("statistics").replaceChildren(...this.#cards(found[0].runs, found[1]));
    } catch (error) {
      $("statistics").replaceChildren(el("p", { class: "card" }, reasonOf(error)));
    }
  }

  #cards(runs, all) {
    const solves = runs.filter((run) => run.kind === "solve" && !run.to && run.outcome);
    const solved = solves.filter((run) => run.outcome === "solved").reverse();
    if (!solves.length) return [el("p", { class: "card" }, t("Nothing has been solved yet."))];
    const times = solved.map((run) => run.duration_s);
    return [
      numbers(all),
      el("div", { class: "two" },
        times.length ? card(t("Times"), histogram(times)) : null,
        times.length > 1 ? card(t("One after the other"), trend(times)) : null,
        card(t("Outcomes"), outcomes(solves)),
        all.days.length ? card(t("By day"), days(all.days)) : null,
        card(t("Serial line"), line(runs)),
        card(t("Download"), exports())),
    ];
  }
}

const card = (title, ...content) => el("div", { class: "card" }, el("h2", {}, title), ...content);
const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;

function numbers(all) {
  const big = (value, text) => el("p", {}, el("b", {}, value), el("span", {}, text));
  const average = (latest, best, text) => (best === null ? null : big(latest === null ? "DNF" : seconds(latest), t("{average}, best {time}", { average: t(text), time: seconds(best) })));
  return el("div", { class: "card bigs" },
    big(t("{solved} of {count}", { solved: all.solved, count: all.attempts }), outcomeName("solved")),
    all.best_run ? big(seconds(all.best_s), t("fastest: run {run}", { run: Number(all.best_run) })) : null,
    all.mean_s === null ? null : big(seconds(all.mean_s), t("on average")),
    average(all.mo3_s, all.best_mo3_s, msg("mean of 3")),
    average(all.ao5_s, all.best_ao5_s, msg("average of 5")),
    average(all.ao12_s, all.best_ao12_s, msg("average of 12")));
}

function days(found) {
  const heads = [[t("Day")], [outcomeName("solved"), "number"], [t("Fastest"), "number"], [t("Average"), "number"]];
  const cell = (text) => el("td", { class: "number" }, text);
  const time = (value) => (value === null ? "" : seconds(value));
  const rows = found.slice(0, DAYS).map((one) => el("tr", {}, el("td", {}, one.day),
    cell(t("{solved} of {count}", { solved: one.solved, count: one.attempts })), cell(time(one.best_s)), cell(time(one.mean_s))));
  return table(t("By day"), heads, rows);
}

function exports() {
  const link = (name, text) => el("li", {}, el("a", { href: `/api/exports/${name}`, download: name }, text));
  return el("ul", {}, link("runs.csv", t("All runs as a table (CSV)")), link("runs.json", t("All runs as JSON")),
    link("cstimer.json", t("Solves for csTimer: “Import session(s) from other timer”")));
}

function axes(label, low, high, rules) {
  const svg = el("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": label });
  for (const { y, text } of rules) {
    svg.append(el("line", { x1: LEFT, x2: WIDTH, y1: y, y2: y, class: "rule" }), el("text", { x: LEFT - 5, y: y + 4, "text-anchor": "end" }, text));
  }
  svg.append(el("line", { x1: LEFT, x2: WIDTH, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM, class: "axis" }),
    el("text", { x: LEFT, y: HEIGHT - 6 }, low), el("text", { x: WIDTH, y: HEIGHT - 6, "text-anchor": "end" }, high));
  return svg;
}

const rounded = (most) => {
  const step = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((k) => k * step).find((s) => most / s <= 4) ?? most;
};

function rulesTo(most, unit) {
  const step = Math.max(unit === "" ? 1 : 0, rounded(most)), found = [];
  for (let v = step; v <= most; v += step) found.push({ y: yOf(v, most), text: `${Number(v.toPrecision(3))}${unit}` });
  return found;
}

const yOf = (value, most) => HEIGHT - BOTTOM - (value / most) * (HEIGHT - BOTTOM - 12);

function histogram(times) {
  const low = Math.floor(Math.min(...times)), high = Math.max(low + 1, Math.ceil(Math.max(...times)));
  const bins = Math.min(12, Math.max(1, Math.ceil(Math.sqrt(times.length)) + 1)), counts = new Array(bins).fill(0);
  for (const time of times) counts[Math.min(bins - 1, Math.floor(((time - low) / (high - low)) * bins))]++;
  const most = Math.max(...counts), width = (WIDTH - LEFT) / bins;
  const svg = axes(t("Solve times from {low} to {high} seconds; most often about {usual}", { low, high, usual: seconds(low + ((counts.indexOf(most) + 0.5) * (high - low)) / bins) }), `${low} s`, `${high} s`, rulesTo(most, ""));
  counts.forEach((count, i) => {
    const from = low + (i * (high - low)) / bins, y = yOf(count, most);
    const bar = el("rect", { x: LEFT + i * width + 1, y, width: width - 2, height: HEIGHT - BOTTOM - y, class: "bar" });
    bar.append(el("title", {}, t("{count} from {time}", { count, time: seconds(from) })));
    svg.append(bar);
  });
  return svg;
}

function trend(times) {
  const most = Math.max(...times), average = mean(times);
  const x = (i) => LEFT + 6 + (i / (times.length - 1)) * (WIDTH - LEFT - 12);
  const svg = axes(t("{count} solves one after the other, from {first} to {last}; on average {average}", { count: times.length, first: seconds(times[0]), last: seconds(times.at(-1)), average: seconds(average) }), t("oldest"), t("newest"), rulesTo(most, " s"));
  svg.append(el("line", { x1: LEFT, x2: WIDTH, y1: yOf(average, most), y2: yOf(average, most), class: "mean" }),
    el("path", { d: times.map((t, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${yOf(t, most).toFixed(1)}`).join(""), class: "trend" }));
  times.forEach((t, i) => svg.append(el("circle", { cx: x(i), cy: yOf(t, most), r: 3, class: "dot" })));
  return svg;
}

function outcomes(solves) {
  const counts = new Map();
  for (const { outcome } of solves) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return facts([...counts].sort((p, q) => q[1] - p[1]).map(([name, count]) => [outcomeName(name), count]));
}

function line(runs) {
  const sum = (key) => runs.reduce((total, run) => total + (run.link?.[key] ?? 0), 0);
  const pairs = [[msg("messages sent"), "sent"], [msg("sent again"), "resent"], [msg("damaged"), "damaged"]].filter(([, key]) => key in (runs[0]?.link ?? {}));
  return facts(pairs.map(([text, key]) => [t(text), whole(sum(key))]));
}
