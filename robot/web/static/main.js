// The page: log in, connect, and switch between the panels.

import { Connection } from "./connection.js";
import { Live } from "./live.js";
import { reasonOf, speak, spoken, stateName, t } from "./language.js";
import { Plan } from "./plan.js";
import { Runs } from "./runs.js";
import { Statistics } from "./statistics.js";
import { Calibration } from "./calibration.js";
import { Doing } from "./doing.js";
import { Owner } from "./owner.js";
import { Audience } from "./audience.js";
import { Watcher } from "./watcher.js";
import { GoalForm } from "./goal.js";
import { $, NoSession, ask, msg } from "./util.js";

const connection = new Connection();
const watcher = new Watcher(connection);
let panels = null, audience = null, goal = null, doing = null;

async function begin() {
  const token = location.hash.startsWith("#/") ? "" : location.hash.slice(1);
  if (token) {
    history.replaceState(null, "", location.pathname);
    try {
      await ask("POST", "/login", { token });
    } catch (error) {
      return logIn(error.message);
    }
  }
  try {
    await ask("GET", "/api/status");
  } catch (error) {
    if (error instanceof NoSession) return logIn("");
  }
  enter();
}

function logIn(answer) {
  connection.close();
  $("page").hidden = $("stops").hidden = true;
  $("answer").textContent = "";
  $("login").hidden = false;
  $("login-answer").textContent = t(answer);
}

async function enter() {
  const { viewer } = await ask("GET", "/api/session").catch(() => ({ viewer: false }));
  document.body.classList.toggle("viewer", viewer);
  $("login").hidden = true;
  $("page").hidden = false;
  $("stops").hidden = viewer;
  panels ??= {
    live: new Live(watcher, connection),
    plan: new Plan(watcher),
    runs: new Runs(watcher),
    statistics: new Statistics(watcher),
    calibration: new Calibration(watcher, connection),
  };
  if (!viewer) panels.owner ??= new Owner(watcher);
  doing ??= new Doing(watcher);
  audience ??= new Audience(watcher);
  if (!viewer) goal ??= new GoalForm();
  follow();
  connection.open();
}

/** Shows the panel in the address: `#/plan`, `#/runs`, `#/runs/12`, `#/kiosk`. */
function follow() {
  if (!panels) return;
  const [, name, about] = location.hash.split("/");
  const known = name in panels ? name : "live";
  choose(known);
  audience.setKiosk(name === "kiosk");
  if (known === "runs") panels.runs.open(/^\d{1,9}$/.test(about) ? about : null);
}

addEventListener("hashchange", () => {
  $("answer").textContent = "";
  follow();
});

function choose(name) {
  for (const [other, panel] of Object.entries(panels)) {
    const chosen = other === name, tab = $(`tab-${other}`);
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    $(other).hidden = !chosen;
    panel.shown = chosen;
  }
}

for (const tab of document.querySelectorAll("[role=tab]")) {
  tab.addEventListener("click", () => { location.hash = `#/${tab.getAttribute("aria-controls")}`; });
  tab.addEventListener("keydown", (e) => {
    const tabs = [...document.querySelectorAll("[role=tab]")], at = tabs.indexOf(tab);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[e.key];
    if (next === undefined) return;
    e.preventDefault();
    const other = tabs[(next + tabs.length) % tabs.length];
    other.focus();
    other.click();
  });
}

$("login").querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await ask("POST", "/login", { token: $("token").value.trim().replace(/^.*#/, "") });
    $("token").value = "";
    enter();
  } catch (error) {
    $("login-answer").textContent = reasonOf(error);
  }
});

connection.addEventListener("ended", () => logIn(msg("This session has ended.")));
spoken.addEventListener("change", () => watcher.dispatchEvent(new Event("change")));
watcher.addEventListener("change", () => {
  const { status, gone } = watcher;
  document.body.classList.toggle("gone", gone !== null);
  $("gone").hidden = gone === null;
  const said = gone === null ? "" : t("Not connected: {why}. The page may be out of date.", { why: t(gone) });
  if ($("gone").textContent !== said) $("gone").textContent = said;
  if (!status) return;
  $("robot").textContent = status.simulated ? `${status.robot} · ${t("simulated")}` : status.robot;
  const state = gone ? t("Not connected") : stateName(status.state);
  if ($("state").textContent !== state) $("state").textContent = state;
  $("state").dataset.state = gone ? "gone" : status.state;
  document.title = `${state} · Cubist`;
});

// For tests: the robot's state as known to the page.
globalThis.cubist = watcher;

await speak();
begin();
