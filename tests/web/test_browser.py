"""The page in a real browser, in front of a whole simulated robot with its daemon and firmware."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page as BrowserPage

from robot.api.client import ControlClient
from robot.calibration.step import Session
from robot.calibration.steps.positions import positions
from robot.planner import build_mechanism
from robot.records.run_record import FaultRecord
from robot.settings import list_profiles, load_profile
from robot.simulate.boards import fastest
from robot.text.faults import RobotError
from robot.web.announcement import FILE_NAME, read_announcement
from solver.cube.cube import from_scramble
from tests.rig.browser import (
    LIMIT_MS,
    PHONE,
    Scene,
    assert_accessible,
    assert_shape,
    hold,
    hold_down,
    needs_browser,
    open_browser,
    page_answered_by_hand,
    scene,
    until,
)
from tests.rig.documents import cube_json, motion_json, run_json
from tests.rig.page_server import TOKEN

pytestmark = needs_browser

NOTE_CUBES = """
globalThis.told = [];
cubist.addEventListener("change", () => {
  const cube = cubist.cube;
  if (cube) told.push({seen: cube.seen.filter(Boolean).length, facelets: cube.facelets});
});
"""
NOTE_STEPS = """
globalThis.steps = [];
cubist.addEventListener("change", () => steps.push(document.getElementById("step").textContent));
"""
SHOWN = """() => {
  const { model, moving } = cubist.pose;
  const letters = model.seen(cubist.cube.facelets);
  return { letters, moving: moving.length };
}"""


DRAWN = """async ([mechanism, positions, motions, atUs]) => {
  const { actuatorsAt, drawMechanism } = await import("/static/mechanism.js");
  const known = positions && actuatorsAt(positions, motions, atUs);
  return drawMechanism(mechanism, known).map((drawn) => drawn.outerHTML).join("");
}"""

HIDDEN_LABELS = """async ([mechanism]) => {
  const { drawMechanism } = await import("/static/mechanism.js");
  const room = document.getElementById("mechanism");
  room.replaceChildren(...drawMechanism(mechanism, {}));
  const within = room.querySelector("svg").getBoundingClientRect();
  const labels = [...room.querySelectorAll("text")];
  const boxes = labels.map((label) => [label.textContent, label.getBoundingClientRect()]);
  const cut = boxes.filter(([, box]) =>
    box.left < within.left || box.right > within.right || box.bottom > within.bottom + 1);
  const over = ([, a], [, b]) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2;
  const hidden = boxes.flatMap((p, i) => boxes.slice(i + 1).filter((q) => over(p, q)));
  return [...cut, ...hidden].map(([text]) => text);
}"""

TRANSLATED = (
    (
        """async (answer) => (await import("/static/language.js")).reasonOf({ answer })""",
        {"reason_code": "busy", "reason_parameters": {"state": "turning", "run": "12"}},
        "der Roboter ist im Zustand „Drehen“ (Lauf 12): das Ende abwarten",
    ),
    (
        """async (fault) => (await import("/static/language.js")).causeOf(fault)""",
        FaultRecord.of(RobotError("home-missing", detail="lid")).model_dump(),
        "(Deckel)",
    ),
)
"""Functions of a German page, their arguments, and a part of their answer."""

TURNING = "cubist.status.state === 'turning'"

IN_MID_TURN = """() => {
  const { operations, duration_us } = cubist.motion;
  const turn = operations.find((o) => o.op === "turn" && o.start_us > duration_us / 4);
  const value = turn.start_us + 0.3 * turn.duration_us;
  Object.defineProperty(cubist, "atUs", { value, configurable: true });
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
"""Script that stops the clock while a layer is askew: a picture takes longer than a turn."""


def renamed(facelets: str) -> str:
    """Return the stickers named in the order of appearance: cubes of one look become equal."""
    names: dict[str, str] = {}
    return "".join(names.setdefault(letter, "URFDLB?"[len(names)]) for letter in facelets)


async def solve_and_compare(scene: Scene) -> None:
    page = await scene.open()
    faces = 6 * scene.stage.scene.robot.body.size**2
    before = renamed(scene.robot.body.facelets())
    await page.evaluate(NOTE_CUBES)
    await hold(page, "#start")
    await until(page, "cubist.status.last_run && !cubist.status.job")
    told = await page.evaluate("told")
    counts = [one["seen"] for one in told if "?" in one["facelets"]]
    record = await scene.stage.daemon.run("1")
    if not record.recoveries:  # on a busy computer the robot may have started over
        assert counts == sorted(counts), "more and more is seen"
    assert {0, faces} <= set(counts)
    assert len(set(counts)) >= 6, "face by face"
    read = next(one["facelets"] for one in told if "?" not in one["facelets"])
    assert renamed(read) == before, "what the page shows is what the robot holds"
    await until(page, "!cubist.motion")
    shown = await page.evaluate(SHOWN)
    assert scene.robot.solved
    assert scene.robot.violations == []
    face = faces // 6
    assert all(len(set(shown["letters"][i * face : (i + 1) * face])) == 1 for i in range(6))
    assert shown["moving"] == 0
    assert renamed(shown["letters"]) == renamed(scene.robot.body.facelets())
    assert scene.complaints == []
    await replay(page)


async def replay(page: BrowserPage) -> None:
    """Open the run and check that its replay ends with a solved cube."""
    await page.click("#tab-plan")
    saved = str(await page.text_content("#plan-savings"))
    record = await page.evaluate("fetch('/api/runs/1').then((answer) => answer.json())")
    assert record["greedy_us"] >= record["planned_us"]
    told = [float(time) for time in re.findall(r"(\d+\.\d+)\ss", saved)]
    assert told == pytest.approx([record["planned_us"] / 1e6, record["greedy_us"] / 1e6], abs=0.01)
    await page.click("#tab-runs")
    await page.locator("#runs td button").first.click()
    await page.wait_for_selector("#run-heading")
    assert "solved" in str(await page.text_content("#run-heading"))
    await page.locator(".replay input").fill("1000")
    assert await page.locator(".photos img").count() >= 12


async def test_a_solve_is_seen_from_the_held_button_to_the_solved_cube():
    async with scene() as here:
        await solve_and_compare(here)
        allowed = (here.origin, here.origin.replace("http", "ws"), "blob:", "data:")
        assert all(url.startswith(allowed) for url in here.requests)
        assert "#" not in "".join(here.requests), "the token goes nowhere but to /login"


@pytest.mark.long
@pytest.mark.parametrize(
    "robot", ["two-arm", "four-arm", "soltvvo", "cubotino-pocket", "six-motor"]
)
async def test_every_kind_of_robot_is_followed(robot):
    async with scene(robot, min(20, fastest(load_profile(robot)))) as here:
        await solve_and_compare(here)


async def at_rest(robot: Any) -> None:
    """Wait until no part of the simulated robot moves, now and a while later."""
    async with asyncio.timeout(LIMIT_MS / 1000):
        still_since: float | None = None
        while still_since is None or robot.time_us - still_since < 3e6:
            if robot.moving:
                still_since = None
            elif still_since is None:
                still_since = robot.time_us
            await asyncio.sleep(0.05)


async def test_a_german_page_follows_an_emergency_stop_and_the_death_of_the_daemon():
    async with scene(speed=5) as here:
        page = await here.open(locale="de-AT")
        assert await page.evaluate("document.documentElement.lang") == "de"
        assert await page.text_content("#state") == "Bereit"
        await page.evaluate(NOTE_STEPS)
        await hold(page, "#start")
        await until(page, "cubist.atUs > 0.05 * cubist.motion?.duration_us && " + TURNING)
        steps = await page.evaluate("steps")
        looks = [step for step in steps if re.fullmatch(r"Sieht . an \(\d von 6\)", step)]
        assert len(set(looks)) == 6, f"each step of a state is told: {steps}"
        await page.locator("#estop").click()
        await until(page, "cubist.status.state === 'fault'")
        await until(page, "document.getElementById('answer').textContent.includes('übermittelt')")
        assert await page.text_content("#fault-cause") == "Not-Halt"
        assert "Grundstellung" in str(await page.text_content("#fault-remedy"))
        await at_rest(here.robot)
        assert not here.robot.solved
        await until(page, "!cubist.status.job")
        await page.click("#tab-runs")
        await page.evaluate("globalThis.sameWindow = true")
        await page.select_option("#language", "ja")
        await until(page, "document.documentElement.lang === 'ja'")
        assert await page.evaluate("sameWindow"), "nothing is loaded again"
        await until(page, "document.getElementById('runs').textContent.includes('停止')")
        await page.click("#tab-live")
        await until(page, "document.getElementById('fault-cause').textContent === '非常停止'")
        other = await here.tab(page.context, here.origin)
        assert await other.evaluate("document.documentElement.lang") == "ja", "the choice is kept"
        foreign = await here.open(locale="pt-BR")
        assert await foreign.text_content("#state") == "Needs help"
        texts = [url.rpartition("/")[2] for url in here.requests if url.endswith(".json")]
        assert texts == ["de.json", "ja.json", "ja.json", "en.json"]
        assert here.complaints == []
        here.stage.children[-1].process.kill()
        await foreign.bring_to_front()
        await foreign.wait_for_selector("#gone:not([hidden])")
        age = "document.getElementById('picture-age').textContent"
        await until(foreign, rf"/^[1-9][0-9]*\s+s ago$/.test({age})")
        assert "cubistd" in str(await foreign.text_content("#gone"))
        assert await foreign.locator("#start").is_disabled()
        await foreign.locator("#estop").click()
        answer = "document.getElementById('answer').textContent"
        await until(foreign, f"{answer}.includes('switch at the robot')")
        await foreign.click("#tab-runs")
        await foreign.locator("#stop").click()
        await until(foreign, f"{answer}.includes('switch at the robot')")
        assert await foreign.locator("#answer").is_visible(), "on every panel"


async def test_buttons_act_only_when_held_and_homing_makes_the_mechanism_known():
    async with scene() as here:
        page = await here.open()
        drawn = page.locator("#mechanism svg")
        assert "not known" in str(await drawn.get_attribute("aria-label"))
        focused = await page.evaluate("document.activeElement.tagName")
        assert focused == "BODY", "nothing is focused by itself, so no key starts anything"
        await page.locator("#home").click()
        await page.locator("#home").press("Enter")
        # A screen reader's click: the page asks twice, because it cannot hold.
        await page.evaluate("document.getElementById('home').click()")
        assert "again" in str(await page.text_content("#answer"))
        status = await here.stage.daemon.status()
        assert (status.job, status.last_run) == (None, None)
        await page.locator("#home").focus()
        await page.keyboard.down("Space")
        await until(page, "cubist.status.last_run")
        await page.keyboard.up("Space")
        assert await page.evaluate("cubist.status.last_run.kind") == "home"
        await until(page, "!document.querySelector('#mechanism .unknown')")
        late = await here.tab(page.context, here.origin)
        for tab in (page, late):
            told = await tab.locator("#mechanism svg").get_attribute("aria-label")
            assert told == "Mechanism: holder home, lid open"
        await page.bring_to_front()
        await page.locator("#estop").click()
        await until(page, "cubist.status.state === 'fault'")
        button = page.locator("#acknowledge")
        await button.click()
        assert (await here.stage.daemon.status()).fault is not None, "it has to be held down"
        await hold_down(page, "#acknowledge")
        await until(page, "cubist.status.state === 'idle'")
        assert not await button.is_visible()
        status = await here.stage.daemon.status()
        assert (status.fault, status.homed) == (None, False)


async def test_the_mechanism_of_every_robot_is_drawn_and_follows_it(page):
    async with open_browser() as browser:
        window, german = [
            await browser.new_page(viewport={"width": 1280, "height": 800}, locale=language)
            for language in ("en", "de")
        ]
        for one in (window, german):
            await one.goto(f"{page.url}/#{TOKEN}")
            await until(one, "globalThis.cubist?.status")
        for robot in list_profiles(reference=True):
            mechanism = build_mechanism(load_profile(robot))
            settings = mechanism.profile.mechanism.model_dump(mode="json")
            resting = dict(mechanism.configurations[mechanism.start.configuration].positions)
            shown = await window.evaluate(DRAWN, [settings, resting, [], 0])
            assert shown.startswith("<svg") and 'role="img"' in shown, robot
            for one in (window, german):
                assert await one.evaluate(HIDDEN_LABELS, [settings]) == [], robot
            steps = {}
            for step in mechanism.transitions:
                if step.start == mechanism.start.configuration:
                    steps |= {
                        motion.actuator: motion
                        for motion in step.motions
                        if motion.start in (None, resting[motion.actuator])
                    }
            assert steps, robot
            for name, step in steps.items():
                motion = {
                    "actuator": name,
                    "start_us": 0,
                    "duration_us": 100,
                    "to": step.end,
                    "quarter_turns": step.quarters,
                }
                told = f"{robot}, {name}: {step}"
                midway = await window.evaluate(DRAWN, [settings, resting, [motion], 50])
                assert 'class="moving"' in midway and f"{name} → " in midway, told
                after = await window.evaluate(DRAWN, [settings, resting, [motion], 100])
                assert "moving" not in after, told
                # The drawing moved, not only its description.
                figures = [re.sub(r"<svg[^>]*>", "", svg) for svg in (shown, midway, after)]
                assert len({svg.replace(' class="moving"', "") for svg in figures}) == 3, told
        assert "unknown" in await window.evaluate(DRAWN, [settings, None, [], 0])
        dials = [{"kind": "gimbal"}, {"ring": 1, "jaw": "open"}, [], 0]
        drawn = await window.evaluate(DRAWN, dials)
        assert drawn.startswith("<ul") and "90°" in drawn and "open" in drawn
        assert await window.evaluate(DRAWN, [None, None, [], 0]) == "", "of an older daemon"
        for script, value, told in TRANSLATED:
            assert told in await german.evaluate(script, value)


ASKS_AGAIN = """async ([file, name, path]) => {
  const watcher = idleWatcher(), panel = new (await import(`/static/${file}.js`))[name](watcher);
  const change = () => watcher.dispatchEvent(new Event("change"));
  panel.shown = true;
  panel.setKiosk?.(true);
  for (let i = 0; i < 3; i++) change();
  const counts = [countAsked(path)];
  await answer("/api", { reason: "busy" }, 503);
  change();
  counts.push(countAsked(path));
  return counts;
}"""
LATE_RUN = """async (record) => {
  const panel = new (await import("/static/runs.js")).Runs(idleWatcher());
  const opening = panel.open("12"), listing = panel.open(null);
  await answer("/api/runs?", { runs: [] });
  await answer("/api/runs/12", record);
  await Promise.all([opening, listing]);
  return document.getElementById("runs").textContent;
}"""
LATE_PLAN = """async ([record, motion]) => {
  const watcher = idleWatcher(), panel = new (await import("/static/plan.js")).Plan(watcher);
  panel.shown = true;
  watcher.motion = motion;
  watcher.dispatchEvent(new Event("change"));
  await answer("/api/runs/12", record);
  return document.getElementById("plan-moves")?.textContent;
}"""
REPLAYED = """async (record) => {
  const { CubeDrawing, plainColour } = await import("/static/cube.js");
  let drawn = null;
  const letterOf = (colour) => [..."URFDLB"].find((letter) => plainColour(letter) === colour);
  CubeDrawing.prototype.draw = function ({ model }, colours) {
    const letters = model.at.map((sticker) => letterOf(colours[sticker])).join("");
    if (this.canvas.closest(".replay")) drawn = letters;
  };
  const opening = new (await import("/static/runs.js")).Runs(idleWatcher()).open("12");
  await answer("/api/runs/12", record);
  await opening;
  const start = drawn, slider = document.querySelector(".replay input");
  slider.value = 1000;
  slider.dispatchEvent(new Event("input"));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return [start, drawn];
}"""


async def test_panels_ask_once_and_again_after_a_failure(page):
    panels = (
        ("statistics", "Statistics", "/api/statistics"),
        ("plan", "Plan", "/api/runs/12"),
        ("runs", "Runs", "/api/runs?"),
        ("audience", "Audience", "/api/statistics"),
    )
    async with page_answered_by_hand(f"{page.url}/#{TOKEN}") as window:
        for panel in panels:
            await window.evaluate("asked.length = 0")
            assert await window.evaluate(ASKS_AGAIN, panel) == [1, 2], panel


async def test_an_answer_that_comes_late_replaces_nothing(page):
    async with page_answered_by_hand(f"{page.url}/#{TOKEN}") as window:
        assert await window.evaluate(LATE_RUN, run_json(12)) == "There are no runs yet."
        late = [run_json(12), motion_json(moves="R U", move_ends_us=[1, 2])]
        assert await window.evaluate(LATE_PLAN, late) == "RU"


@pytest.mark.parametrize("size", [2, 3, 4])
async def test_a_replay_begins_with_the_cube_that_was_read_and_ends_solved(page, size):
    rotate = {"op": "rotate", "axis": "x", "start_us": 0, "duration_us": 5}
    turn = {"op": "turn", "site": "L", "start_us": 5, "duration_us": 5}
    operations = [rotate | {"quarter_turns": 1}, turn | {"quarter_turns": -1}]
    before = from_scramble("L", size).facelets()
    record = run_json(12, operations=operations, orientation="UF", planned_us=10)
    async with page_answered_by_hand(f"{page.url}/#{TOKEN}") as window:
        for read in (before, from_scramble("U2 R", size).facelets()):  # that of an earlier plan
            shown = await window.evaluate(REPLAYED, record | {"facelets": read})
            assert shown == [before, "".join(face * size**2 for face in "FRDBLU")]


async def test_an_owner_who_logs_in_where_a_viewer_was_has_the_owner_s_panel(page, options):
    await page.log_in()
    viewer = read_announcement(options.announce / FILE_NAME).viewer_urls[0].rpartition("#")[2]
    async with open_browser() as browser:
        window = await browser.new_page()
        await window.goto(f"{page.url}/#{viewer}")
        await until(window, "document.body.classList.contains('viewer') && cubist.status")
        assert (await page.ask("POST", "/api/viewers/withdraw", page.own))[0] == 200
        await window.fill("#token", TOKEN)
        await window.press("#token", "Enter")
        await window.click("#tab-owner")
        await window.wait_for_selector("#profile-heading")


PERFORMED = """async ([cube, motion]) => {
  const { CubeModel } = await import("/static/cube.js"), connection = new EventTarget();
  const watcher = new (await import("/static/watcher.js")).Watcher(connection);
  const tell = (kind, detail) => connection.dispatchEvent(new CustomEvent(kind, { detail }));
  tell("live", { cube, motion, at_us: 0 });
  const perform = CubeModel.prototype.perform, found = [];
  CubeModel.prototype.perform = function (operation) {
    if (this.size === cube.size) found.at(-1)[0] += 1;
    return perform.call(this, operation);
  };
  for (const at_us of [5, 10, 10, 20, 5]) {
    tell("event", { event: "clock", at_us });
    found.push([0]);
    found.at(-1).push(watcher.pose.model.seen(cube.facelets), watcher.heldBy);
  }
  return found;
}"""


async def test_the_cube_in_a_motion_performs_each_operation_once_until_the_time_goes_back(page):
    moves = ["R", "U", "F"]
    operations = [
        {"op": "turn", "site": site, "quarter_turns": 1, "start_us": 5 * i, "duration_us": 5}
        for i, site in enumerate(moves)
    ]
    rotate = {"op": "rotate", "axis": "y", "quarter_turns": 1, "start_us": 15, "duration_us": 5}
    cube = cube_json(from_scramble("", 4))
    motion = motion_json(operations=[*operations, rotate], moves="R U F", duration_us=20)
    async with page_answered_by_hand(f"{page.url}/#{TOKEN}") as window:
        found = await window.evaluate(PERFORMED, [cube, motion])
    assert [count for count, *_ in found] == [1, 1, 0, 2, 1]
    states = [from_scramble(" ".join(moves[:n]), 4).facelets() for n in (1, 2, 2, 1)]
    assert [seen for _, seen, _ in found[:3] + found[4:]] == states
    assert [held for *_, held in found] == ["UF", "UF", "UF", "UR", "UF"]


COUNT_PICTURES = """() => {
  globalThis.pictures = new Set();
  const canvas = document.getElementById("picture");
  new MutationObserver(() => {
    if (cubist.status.state === "turning") pictures.add(canvas.dataset.number);
  }).observe(canvas, { attributes: true, attributeFilter: ["data-number"] });
}"""


@pytest.mark.long
async def test_a_viewer_sees_a_fast_robot_turn_live_and_it_loses_nothing_by_that():
    # Slower than real time: on a busy computer a picture takes longer than a turn of this robot.
    async with scene("six-motor", speed=0.1) as here:
        owner = await here.open()
        link = await owner.evaluate("fetch('/api/viewers').then((answer) => answer.json())")
        viewer = await here.tab(await here.browser.new_context(), link["url"])
        await viewer.evaluate(COUNT_PICTURES)
        await hold(owner, "#start")
        await until(viewer, "cubist.status.state === 'turning'")
        await viewer.wait_for_selector("#picture-age[data-live=true]")
        await until(viewer, "cubist.status.last_run && !cubist.status.job")
        run = await here.stage.daemon.run("1")
        assert run.outcome == "solved" and run.executed_us is not None
        assert run.executed_us == run.planned_us
        assert here.robot.violations == []
        count = await viewer.evaluate("pictures.size")
        assert count >= 5 * run.executed_us / 1e6, f"{count} in {run.executed_us} us"
        await viewer.evaluate("location.hash = '#/kiosk'")
        await until(viewer, "document.getElementById('today').textContent.includes('1 solved')")
        assert here.complaints == []


HEADING = "document.getElementById('guide-heading')?.textContent"
MESSAGE = "document.getElementById('guide-message').textContent"
VALUE = "document.querySelector('#guide-value b').textContent"
BUSY = "document.querySelector('.guide').dataset.busy === 'true'"


async def begin_guide(page: BrowserPage) -> None:
    await hold_down(page, "#guide-begin")
    await page.wait_for_selector(".choices button")


async def open_guide(here: Scene) -> BrowserPage:
    page = await here.open()
    await page.click("#tab-calibration")
    await begin_guide(page)
    return page


async def press(page: BrowserPage, what: str) -> None:
    """Press a button of the guide once it is enabled, and wait until the robot is done."""
    button = f"#guide-buttons [data-do='{what}']"
    await page.wait_for_selector(f"{button}:enabled")
    if "hold" in str(await page.get_attribute(button, "class")):
        await hold_down(page, button)
    else:
        await page.click(button)


async def choose(page: BrowserPage, text: str) -> None:
    """Open a line of the menu or of a list, and wait for its page."""
    before = await page.evaluate(HEADING)
    await page.locator("#guide-found button", has_text=text).first.click()
    await until(page, f"{HEADING} !== {json.dumps(before)} && !({BUSY})")


async def state(here: Scene) -> str:
    return str((await here.stage.daemon.status()).state)


def keep_all_positions(socket: Path) -> None:
    session = Session(ControlClient(socket))
    with session.maintenance():
        session.keep({one.key: one.value for one in positions(session)})


async def kept_values(page: BrowserPage) -> dict[str, Any]:
    answer = "fetch('/api/calibration').then((answer) => answer.json())"
    values: dict[str, Any] = (await page.evaluate(answer))["values"]
    return values


async def keep_and_undo_a_position(page: BrowserPage) -> None:
    await choose(page, "Positions:")
    await choose(page, "holder home")
    assert "The position of this servo is unknown" in str(await page.text_content("#guide-text"))
    await press(page, "begin")
    await page.wait_for_selector("#guide-buttons [data-do='by 10']")
    pulse = int(str(await page.text_content("#guide-value b")))
    await press(page, "by 10")
    await until(page, f"{VALUE} === '{pulse + 10}' && !({BUSY})")
    await page.locator("#guide-heading").press("ArrowRight")
    await until(page, f"{VALUE} === '{pulse + 11}'")
    await press(page, "keep")
    await until(page, f"{HEADING} === 'holder cw' && !({BUSY})")
    assert "has turned by a quarter" in str(await page.text_content("#guide-purpose"))
    assert await page.locator("#guide-buttons [data-do='begin'].hold").count() == 1
    await press(page, "give_up")
    await until(page, f"{HEADING}.startsWith('Positions') && !({BUSY})")
    kept = await kept_values(page)
    assert kept == {"actuators.holder.positions_us.home": pulse + 11}
    assert f"{pulse + 11} us" in str(await page.text_content("#guide-found"))
    await press(page, "undo")
    await until(page, f"{MESSAGE}.startsWith('undone: actuators.holder')")
    kept = await kept_values(page)
    assert kept == {}


async def keep_camera_and_colours(page: BrowserPage) -> None:
    await choose(page, "Home")
    await press(page, "measure")
    await until(page, f"{MESSAGE}.includes('start position')")
    await press(page, "back")
    await choose(page, "Camera:")
    await page.wait_for_selector(".advice li")
    assert "all is well" in str(await page.text_content(".advice"))
    await page.focus("#guide-picture")
    for _ in range(5):
        await page.keyboard.press("Shift+ArrowLeft")
    await until(page, "document.querySelector('.advice').textContent.includes('pixels off')")
    await press(page, "find")
    await until(page, "!document.querySelector('.advice').textContent.includes('pixels off')")
    await press(page, "keep")
    await until(page, f"{MESSAGE} === 'kept'")
    kept = await kept_values(page)
    assert sum(key.endswith(".quad") for key in kept) == 1
    await press(page, "back")
    await choose(page, "Colours of")
    await press(page, "measure")
    await until(page, f"{MESSAGE}.startsWith('are these')")
    assert await page.locator("#guide-found .swatch").count() == 6
    await press(page, "keep")
    await until(page, f"{MESSAGE} === 'kept'")


async def test_positions_camera_and_colours_are_calibrated_on_the_page():
    async with scene() as here:
        page = await open_guide(here)
        assert await state(here) == "maintenance"
        await keep_and_undo_a_position(page)
        other = await here.tab(page.context, here.origin)
        await other.click("#tab-calibration")
        assert await other.locator("#guide-begin").is_disabled()
        await page.close()
        await until(other, "!document.getElementById('guide-begin').disabled")
        await asyncio.to_thread(keep_all_positions, here.control_socket)
        page = await open_guide(here)
        await keep_camera_and_colours(page)
        await page.click("#guide-end")
        await page.wait_for_selector("#guide-begin:enabled")
        assert await state(here) != "maintenance"
        assert "colours" in str(await page.text_content("#calibration"))
        assert here.robot.violations == []
        assert here.complaints == []


async def test_a_phone_calibrates_in_another_language_until_the_daemon_is_gone():
    async with scene() as here:
        page = await here.open(PHONE, bypass_csp=True)
        await page.click("#tab-calibration")
        await page.locator("#guide-begin").click()
        assert "hold" in str(await page.text_content("#guide-answer"))
        await begin_guide(page)
        before = str(await page.text_content("#guide-heading"))
        await page.select_option("#language", "de")
        await until(page, "document.documentElement.lang === 'de'")
        assert await page.text_content("#guide-heading") != before
        assert await state(here) == "maintenance"
        for line in ("Positionen:", "Grundstellung", "Kamera:"):
            await choose(page, line)
            await page.wait_for_function("document.getElementById('guide-picture').width > 320")
            await assert_shape(page, line)
            await assert_accessible(page, line)
            await press(page, "back")
            await page.wait_for_selector(".choices button")
        assert here.complaints == []
        await here.stage.children[-1].stop(5)
        await page.locator("#guide-found button", has_text="Positionen:").first.click()
        answer = "document.getElementById('guide-answer')?.textContent"
        await until(page, f"{answer}.includes('cubistd')")


@pytest.mark.long
async def test_pictures_for_the_documentation(tmp_path):
    """Keep the pictures in the folder that CUBIST_PICTURES names: docs/pictures."""
    kept = Path(os.environ.get("CUBIST_PICTURES", tmp_path))
    async with scene(speed=2) as here:
        desk = await here.open({"width": 1180, "height": 760})
        phone = await here.open(PHONE, color_scheme="dark")
        german = await here.open({"width": 1180, "height": 760}, locale="de-DE")
        await hold(desk, "#start")
        await until(desk, "cubist.look?.face && cubist.cube.seen.filter(Boolean).length === 36")
        shown = "Number(document.getElementById('picture').dataset.number)"
        await until(desk, f"{shown} >= cubist.look.picture")
        await desk.screenshot(path=kept / "page-scan.png")
        turning = "cubist.motion?.purpose === 'turn'"
        await until(desk, turning)
        for page, name in ((desk, "turn"), (phone, "phone"), (german, "german")):
            await page.evaluate(IN_MID_TURN)
            await page.screenshot(path=kept / f"page-{name}.png")
            await page.evaluate("delete cubist.atUs")
        await desk.click("#tab-plan")
        await until(desk, f"{turning} && cubist.atUs > 0.3 * cubist.motion.duration_us")
        await desk.screenshot(path=kept / "page-plan.png")
        await desk.click("#tab-live")
        await desk.locator("#estop").click()
        await desk.wait_for_selector("#fault:not([hidden])")
        await desk.screenshot(path=kept / "page-fault.png")
        await until(desk, "!cubist.status.job")
        await hold(desk, "#home-after-stop")
        await until(desk, "cubist.status.state === 'idle' && !cubist.status.job")
        await hold(desk, "#start")
        await until(desk, "!cubist.status.job && cubist.status.last_run.outcome === 'solved'")
        await desk.click("#tab-runs")
        await desk.locator("#runs td button").first.click()
        await desk.locator(".photos img").last.scroll_into_view_if_needed()
        await desk.evaluate("document.getElementById('page').scrollTop = 0")
        await desk.screenshot(path=kept / "page-run.png")
        await desk.click("#tab-calibration")
        await begin_guide(desk)
        await choose(desk, "Camera:")
        await desk.wait_for_selector(".advice li")
        await desk.screenshot(path=kept / "page-guide.png")
