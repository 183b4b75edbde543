"""The page keeps its shape on a desk and on a phone, in every state that it has."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.async_api import Page as BrowserPage

from robot.planner import build_mechanism
from robot.settings import list_profiles, load_profile
from robot.text.languages import LANGUAGES
from tests.rig.browser import PHONE, hold, hold_down, needs_browser, scene, until

pytestmark = needs_browser

WINDOWS = {"desk": {"width": 1280, "height": 800}, "phone": PHONE}
PANELS = ("live", "plan", "runs", "statistics", "calibration")

FAULTS_OF_SHAPE = """() => {
  const shown = (e) => e.checkVisibility() && e.getClientRects().length > 0;
  const nameOf = (e) => `${e.tagName}#${e.id} ${(e.textContent || "").trim().slice(0, 40)}`;
  const found = [];
  for (const room of [document.documentElement, ...document.querySelectorAll("main")]) {
    if (room.scrollWidth > room.clientWidth) found.push(`${nameOf(room)} is too wide`);
  }
  for (const e of document.querySelectorAll("body *")) {
    const style = getComputedStyle(e);
    if (!shown(e) || style.overflowX === "visible" || style.overflowX === "auto") continue;
    if (e.scrollWidth > e.clientWidth + 1) found.push(`${nameOf(e)} is cut`);
  }
  const box = document.getElementById("language");
  const wanted = Math.max(...[...box.options].map((o) => {
    const g = document.createElement("canvas").getContext("2d");
    g.font = getComputedStyle(box).font;
    return g.measureText(o.text).width;
  }));
  if (box.clientWidth < wanted) found.push("the language is cut");
  for (const e of document.querySelectorAll("button, a, select, input, summary")) {
    if (!shown(e)) continue;
    e.scrollIntoView({ block: "center" });
    const { left, top, width, height } = e.getBoundingClientRect();
    for (const [x, y] of [[0.5, 0.5], [0.5, 0.06], [0.5, 0.94]]) {
      const hit = document.elementFromPoint(left + x * width, top + y * height);
      if (hit === e || e.contains(hit)) continue;
      found.push(`${nameOf(e)} lies behind ${hit ? nameOf(hit) : "the edge"}`);
    }
  }
  for (const room of document.querySelectorAll("main")) room.scrollTop = 0;
  return [...new Set(found)];
}"""

IN_SIGHT = """(id) => {
  const { left, top, width, height } = document.getElementById(id).getBoundingClientRect();
  return [0.05, 0.95].every((y) =>
    document.elementFromPoint(left + width / 2, top + y * height)?.closest("button")?.id === id);
}"""


async def assert_shape(page: BrowserPage, where: str) -> None:
    """Assert that nothing on the page is too wide, cut, or behind something else."""
    assert await page.evaluate(FAULTS_OF_SHAPE) == [], where


async def assert_every_panel(page: BrowserPage, where: str) -> None:
    for panel in PANELS:
        await page.click(f"#tab-{panel}")
        await page.wait_for_selector(f"#{panel} *")
        await assert_shape(page, f"{panel}, {where}")
    await page.click("#tab-live")


async def test_every_panel_in_every_state() -> None:
    """Idle, working, in a fault, while somebody calibrates; and one run with its pictures."""
    async with scene(speed=6) as here:
        pages = {name: await here.open(size) for name, size in WINDOWS.items()}
        desk = pages["desk"]

        async def check(state: str) -> None:
            for name, page in pages.items():
                await page.bring_to_front()
                await assert_every_panel(page, f"{state}, {name}")
            await desk.bring_to_front()

        await check("idle")
        assert await desk.evaluate(IN_SIGHT, "start")
        await hold(desk, "#start")
        await until(desk, "cubist.motion?.purpose === 'turn'")
        await desk.wait_for_selector("#picture.old")
        assert "ago" in str(await desk.text_content("#picture-text"))
        await check("working")
        await desk.locator("#estop").click()
        await until(desk, "cubist.status.state === 'fault' && !cubist.status.job")
        for name, page in pages.items():
            for button in ("acknowledge", "home-after-stop"):
                assert await page.evaluate(IN_SIGHT, button), f"the remedy: {button} ({name})"
        await check("fault")
        for name, page in pages.items():
            await page.goto(f"{here.url.partition('#')[0]}#/runs/1")
            await page.wait_for_selector("#run-heading")
            await assert_shape(page, f"a run, {name}")
            await page.reload()
            await page.wait_for_selector("#run-heading")
            assert page.url.endswith("#/runs/1"), "an address of a run stays one"
            for language in sorted(LANGUAGES):
                await page.select_option("#language", language)
                await until(page, f"document.documentElement.lang === '{language}'")
                assert await page.locator("#run-heading").is_visible()
                await assert_every_panel(page, f"{language}, {name}")
                await page.goto(f"{here.url.partition('#')[0]}#/runs/1")
                await page.wait_for_selector("#run-heading")
        assert here.complaints == []


async def test_a_calibration_goes_on_in_another_language_and_a_short_press_is_explained() -> None:
    async with scene() as here:
        page = await here.open(WINDOWS["desk"])
        await page.click("#tab-calibration")
        await page.locator("#guide-begin").click()
        assert "hold" in str(await page.text_content("#guide-answer"))
        await hold_down(page, "#guide-begin")
        await until(page, "cubist.status.state === 'maintenance'")
        await page.wait_for_selector("#guide-found button")
        await assert_shape(page, "calibrating")
        before = str(await page.text_content("#guide-heading"))
        await page.select_option("#language", "de")
        await until(page, "document.documentElement.lang === 'de'")
        assert await page.text_content("#guide-heading") != before
        await assert_shape(page, "calibrating in German")
        assert await page.evaluate("cubist.status.state") == "maintenance"
        await page.click("#tab-live")
        await page.locator("#home").click(force=True)
        assert here.complaints == []


LABELS = """async ([mechanism]) => {
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


@pytest.mark.parametrize("language", ["en", "de"])
async def test_the_labels_of_a_mechanism_lie_beside_each_other(language: str) -> None:
    async with scene() as here:
        page = await here.open(WINDOWS["desk"], locale=language)
        for robot in list_profiles(reference=True):
            mechanism: Any = build_mechanism(load_profile(robot)).profile.mechanism
            settings = json.loads(mechanism.model_dump_json())
            assert await page.evaluate(LABELS, [settings]) == [], robot
