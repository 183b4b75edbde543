"""The page in a real browser, in front of a whole simulated robot with its daemon and firmware."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page as BrowserPage

from robot.planner import build_mechanism
from robot.records.run_record import FaultRecord
from robot.settings import list_profiles, load_profile
from robot.simulate.boards import fastest
from robot.text.faults import RobotError
from tests.rig.browser import LIMIT_MS, PHONE, Scene, hold, hold_down, needs_browser, scene, until

pytestmark = needs_browser

PANELS = ("live", "plan", "runs", "statistics", "calibration")

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

IN_MID_TURN = """() => {
  const { operations, duration_us } = cubist.motion;
  const turn = operations.find((o) => o.op === "turn" && o.start_us > duration_us / 4);
  const value = turn.start_us + 0.3 * turn.duration_us;
  Object.defineProperty(cubist, "atUs", { value, configurable: true });
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
"""The clock stands still while a layer is askew: a picture takes longer than a turn."""


def renamed(facelets: str) -> str:
    """The same stickers, named in the order in which they are met: two names of one look."""
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
    if not record.recoveries:  # of a busy computer, on which the robot started over
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
    """The run can be opened, and its replay ends with a solved cube."""
    await page.click("#tab-plan")
    saved = str(await page.text_content("#plan-savings"))
    record = await page.evaluate("fetch('/api/runs/1').then((answer) => answer.json())")
    assert record["greedy_us"] >= record["planned_us"]
    told = [float(time) for time in re.findall(r"(\d+\.\d+) s", saved)]
    assert told == pytest.approx([record["planned_us"] / 1e6, record["greedy_us"] / 1e6], abs=0.01)
    await page.click("#tab-runs")
    await page.locator("#runs td button").first.click()
    await page.wait_for_selector("#run-heading")
    assert "solved" in str(await page.text_content("#run-heading"))
    await page.locator(".replay input").fill("1000")
    assert await page.locator(".photos img").count() >= 12


async def test_a_solve_is_seen_from_the_held_button_to_the_solved_cube() -> None:
    async with scene() as here:
        await solve_and_compare(here)
        origin = here.url.partition("/#")[0]
        allowed = (origin, origin.replace("http", "ws"), "blob:", "data:")
        assert all(url.startswith(allowed) for url in here.requests)
        assert "#" not in "".join(here.requests), "the token goes nowhere but to /login"


@pytest.mark.long
@pytest.mark.parametrize(
    "robot", ["two-arm", "four-arm", "soltvvo", "cubotino-pocket", "six-motor"]
)
async def test_every_kind_of_robot_is_followed(robot: str) -> None:
    async with scene(robot, min(20, fastest(load_profile(robot)))) as here:
        await solve_and_compare(here)


async def at_rest(robot: Any) -> None:
    """Wait until the simulated robot itself moves nothing, now and a while later."""
    async with asyncio.timeout(LIMIT_MS / 1000):
        still_since: float | None = None
        while still_since is None or robot.time_us - still_since < 3e6:
            if robot.moving:
                still_since = None
            elif still_since is None:
                still_since = robot.time_us
            await asyncio.sleep(0.05)


async def test_emergency_stop_in_mid_turn_then_the_daemon_dies() -> None:
    async with scene(speed=5) as here:
        page = await here.open()
        await hold(page, "#start")
        await until(
            page,
            "cubist.status.state === 'turning' && cubist.atUs > 0.05 * cubist.motion?.duration_us",
        )
        await page.locator("#estop").click()
        await until(page, "cubist.status.state === 'fault'")
        await until(page, "document.getElementById('answer').textContent.includes('sent')")
        assert await page.locator("#fault").is_visible()
        assert "square" in str(await page.text_content("#fault-remedy"))
        await at_rest(here.robot)
        assert not here.robot.solved
        await until(page, "!cubist.status.job")
        here.stage.children[-1].process.kill()
        await page.wait_for_selector("#gone:not([hidden])")
        assert "cubistd" in str(await page.text_content("#gone"))
        assert "grayscale" in await page.evaluate(
            "getComputedStyle(document.getElementById('page')).filter"
        )
        assert await page.locator("#start").is_disabled()
        await page.locator("#estop").click()
        await until(
            page, "document.getElementById('answer').textContent.includes('switch at the robot')"
        )


async def test_an_emergency_stop_is_acknowledged_on_the_page_and_nothing_moves() -> None:
    async with scene() as here:
        page = await here.open()
        button = page.locator("#acknowledge")
        assert not await button.is_visible()
        await page.locator("#estop").click()
        await until(page, "cubist.status.state === 'fault'")
        await button.click()
        assert (await here.stage.daemon.status()).fault is not None, "it has to be held down"
        await hold_down(page, "#acknowledge")
        await until(page, "cubist.status.state === 'idle'")
        assert not await button.is_visible()
        status = await here.stage.daemon.status()
        assert (status.fault, status.last_run, status.homed) == (None, None, False)


async def test_a_short_press_starts_nothing_and_a_long_key_press_does() -> None:
    async with scene() as here:
        page = await here.open()
        focused = await page.evaluate("document.activeElement.tagName")
        assert focused == "BODY", "nothing is focused by itself, so no key starts anything"
        await page.locator("#home").click()
        await page.locator("#home").press("Enter")
        assert (await here.stage.daemon.status()).last_run is None
        assert (await here.stage.daemon.status()).job is None
        # What a screen reader sends: asked twice, because it cannot hold.
        await page.evaluate("document.getElementById('home').click()")
        assert "again" in str(await page.text_content("#answer"))
        assert (await here.stage.daemon.status()).job is None
        await page.locator("#home").focus()
        await page.keyboard.down("Space")
        await until(page, "cubist.status.last_run")
        await page.keyboard.up("Space")
        assert await page.evaluate("cubist.status.last_run.kind") == "home"


async def test_every_panel_fits_a_phone_and_is_accessible() -> None:
    async with scene() as here:
        window: dict[str, Any] = {"bypass_csp": True}  # axe is a script of ours, in a test only
        for scheme in ("light", "dark"):
            page = await here.open(PHONE, color_scheme=scheme, **window)
            for button in ("#start", "#stop", "#estop"):
                box = await page.locator(button).bounding_box()
                assert box is not None
                assert box["y"] + box["height"] <= PHONE["height"], button
                assert min(box["width"], box["height"]) >= 44, button
            for panel in PANELS:
                await page.click(f"#tab-{panel}")
                await page.wait_for_selector(f"#{panel} *")
                assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
                found = await Axe().run(page)
                assert found.violations_count == 0, f"{panel}, {scheme}: {found.generate_report()}"
            await page.context.close()


async def test_the_page_speaks_the_browsers_language_or_the_chosen_one() -> None:
    async with scene(speed=5) as here:
        page = await here.open(locale="de-AT")
        assert await page.evaluate("document.documentElement.lang") == "de"
        assert await page.text_content("#state") == "Bereit"
        assert await page.text_content("#stop") == "Halt"
        await page.evaluate(NOTE_STEPS)
        await hold(page, "#start")
        await until(page, "document.getElementById('step').textContent.startsWith('Dreht: ')")
        steps = await page.evaluate("steps")
        looks = [step for step in steps if re.fullmatch(r"Sieht . an \(\d von 6\)", step)]
        assert len(set(looks)) == 6, f"each step of a state is told: {steps}"
        assert re.fullmatch(r"Dreht: .* in \d+,\d s.*", steps[-1]), steps
        await page.locator("#estop").click()
        await until(page, "cubist.status.state === 'fault' && !cubist.status.job")
        assert await page.text_content("#fault-cause") == "Not-Halt"
        assert "Grundstellung" in str(await page.text_content("#fault-remedy"))
        answer = {"reason_code": "busy", "reason_parameters": {"state": "turning", "run": "12"}}
        told = await page.evaluate(
            """async (answer) => (await import("/static/language.js")).reasonOf({ answer })""",
            answer,
        )
        assert told.startswith("der Roboter ist im Zustand „Drehen“ (Lauf 12): das Ende abwarten")
        assert "(Deckel)" in await page.evaluate(
            """async (fault) => (await import("/static/language.js")).causeOf(fault)""",
            FaultRecord.of(RobotError("home-missing", detail="lid")).model_dump(),
        )
        await page.click("#tab-runs")
        await page.evaluate("globalThis.sameWindow = true")
        await page.select_option("#language", "ja")
        await until(page, "document.documentElement.lang === 'ja'")
        assert await page.evaluate("sameWindow"), "nothing is loaded again"
        assert await page.locator("#runs").is_visible()
        assert await page.text_content("#stop") == "停止"
        assert "停止" in str(await page.text_content("#runs"))
        await page.click("#tab-live")
        assert await page.text_content("#fault-cause") == "非常停止"
        other = await here.tab(page.context, here.url.partition("#")[0])
        assert await other.evaluate("document.documentElement.lang") == "ja", "the choice is kept"
        foreign = await here.open(locale="pt-BR")
        assert await foreign.text_content("#state") == "Needs help"
        texts = [url.rpartition("/")[2] for url in here.requests if url.endswith(".json")]
        assert texts == ["de.json", "ja.json", "ja.json", "en.json"]
        assert here.complaints == []


async def test_the_mechanism_of_every_robot_is_drawn_and_follows_it() -> None:
    async with scene() as here:
        page = await here.open()
        for robot in list_profiles(reference=True):
            mechanism = build_mechanism(load_profile(robot))
            settings = mechanism.profile.mechanism.model_dump(mode="json")
            resting = dict(mechanism.configurations[mechanism.start.configuration].positions)
            shown = await page.evaluate(DRAWN, [settings, resting, [], 0])
            assert shown.startswith("<svg") and 'role="img"' in shown, robot
            steps = {}
            for step in mechanism.transitions:
                if step.start == mechanism.start.configuration:
                    steps |= {
                        one.actuator: one
                        for one in step.motions
                        if one.start in (None, resting[one.actuator])
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
                midway = await page.evaluate(DRAWN, [settings, resting, [motion], 50])
                assert 'class="moving"' in midway and f"{name} → " in midway, told
                after = await page.evaluate(DRAWN, [settings, resting, [motion], 100])
                assert "moving" not in after, told
                # What is drawn moved, not only what is said of it.
                figures = [re.sub(r"<svg[^>]*>", "", one) for one in (shown, midway, after)]
                assert len({one.replace(' class="moving"', "") for one in figures}) == 3, told
        assert "not known" in await page.evaluate(DRAWN, [settings, None, [], 0])
        dials = await page.evaluate(DRAWN, [{"kind": "gimbal"}, {"ring": 1, "jaw": "open"}, [], 0])
        assert dials.startswith("<ul") and "90°" in dials and "open" in dials
        assert await page.evaluate(DRAWN, [None, None, [], 0]) == "", "of an older daemon"
        assert here.complaints == []


async def test_the_mechanism_is_known_once_it_is_homed() -> None:
    async with scene() as here:
        page = await here.open()
        drawn = page.locator("#mechanism svg")
        assert "not known" in str(await drawn.get_attribute("aria-label"))
        await hold(page, "#home")
        await until(page, "cubist.status.last_run && !cubist.status.job")
        await until(page, "!document.querySelector('#mechanism .unknown')")
        assert await drawn.get_attribute("aria-label") == "Mechanism: holder home, lid open"
        late = await here.tab(page.context, here.url.partition("#")[0])
        told = await late.locator("#mechanism svg").get_attribute("aria-label")
        assert told == "Mechanism: holder home, lid open"


@pytest.mark.long
async def test_twelve_tabs_and_stop_is_sent_at_once() -> None:
    async with scene(speed=3) as here:
        page = await here.open()
        others = [await here.tab(page.context, here.url.partition("#")[0]) for _ in range(11)]
        for tab in (page, *others):
            await tab.bring_to_front()
            await tab.wait_for_selector("#picture[data-number]")
        await page.bring_to_front()
        await hold(page, "#start")
        last = others[-1]
        await last.bring_to_front()
        await until(last, "cubist.status.job")
        await last.locator("#stop").click()
        await until(last, "cubist.status.last_run && !cubist.status.job")
        assert await last.evaluate("cubist.status.last_run.outcome") == "stopped"
        assert here.complaints == []


@pytest.mark.long
async def test_pictures_for_the_documentation(tmp_path: Path) -> None:
    """Where CUBIST_PICTURES names a folder, they are kept there: docs/pictures."""
    kept = Path(os.environ.get("CUBIST_PICTURES", tmp_path))
    async with scene(speed=2) as here:
        desk = await here.open({"width": 1180, "height": 760})
        phone = await here.open(PHONE, color_scheme="dark")
        german = await here.open({"width": 1180, "height": 760}, locale="de-DE")
        await hold(desk, "#start")
        await until(
            desk,
            "cubist.look && cubist.look.face && cubist.cube.seen.filter(Boolean).length === 36",
        )
        await until(
            desk, "Number(document.getElementById('picture').dataset.number) >= cubist.look.picture"
        )
        await desk.screenshot(path=kept / "page-scan.png")
        await until(desk, "cubist.motion?.purpose === 'turn'")
        shown = (
            (desk, "page-turn.png"),
            (phone, "page-phone.png"),
            (german, "page-german.png"),
        )
        for page, name in shown:
            await page.evaluate(IN_MID_TURN)
            await page.screenshot(path=kept / name)
            await page.evaluate("delete cubist.atUs")
        await desk.click("#tab-plan")
        await until(
            desk,
            "cubist.motion?.purpose === 'turn' && cubist.atUs > 0.3 * cubist.motion.duration_us",
        )
        await desk.screenshot(path=kept / "page-plan.png")
        await desk.click("#tab-live")
        await desk.locator("#estop").click()
        await desk.wait_for_selector("#fault:not([hidden])")
        await desk.screenshot(path=kept / "page-fault.png")
        await until(desk, "!cubist.status.job")
        await hold(desk, "#home-after-stop")
        await until(desk, "cubist.status.state === 'idle' && !cubist.status.job")
        await hold(desk, "#start")
        await until(
            desk, "cubist.status.job === null && cubist.status.last_run.outcome === 'solved'"
        )
        await desk.click("#tab-runs")
        await desk.locator("#runs td button").first.click()
        await desk.locator(".photos img").last.scroll_into_view_if_needed()
        await desk.evaluate("document.getElementById('page').scrollTop = 0")
        await desk.screenshot(path=kept / "page-run.png")
