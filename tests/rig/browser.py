"""A real browser in front of the page of a whole simulated robot with its daemon and firmware."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, async_playwright
from playwright.async_api import Page as BrowserPage

from robot.api.paths import SOCKET_NAME, Simulation
from robot.settings import load_profile, profile_file
from robot.simulate.processes import workspace
from robot.simulate.progress import SilentDisplay
from robot.simulate.session import Demo, DemoOptions, DemoStage
from robot.simulate.simulation import SimulationController, page_served
from robot.twin.cube import scrambled
from robot.twin.misadjustment import Misadjustment

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
LIMIT_MS = 120_000
"""Timeout for short waits on a computer that is busy with everything else."""

PHONE = {"width": 360, "height": 640}
DESK = {"width": 1200, "height": 800}
needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="chromium is not installed: sudo apt install chromium"
)


@dataclass
class Scene:
    """A simulated robot, a browser, and the requests and errors of its pages."""

    stage: DemoStage
    control_socket: Path
    url: str
    browser: Browser
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def robot(self) -> Any:
        return self.stage.scene.robot

    @property
    def origin(self) -> str:
        """Return the page's address without its token."""
        return self.url.partition("/#")[0]

    async def open(self, size: dict[str, int] = DESK, **context: Any) -> BrowserPage:
        """Open the page in a new browser window, logged in and showing the robot's status."""
        window = await self.browser.new_context(viewport=size, **context)
        return await self.tab(window)

    async def tab(self, window: BrowserContext, url: str | None = None) -> BrowserPage:
        page = await window.new_page()
        page.set_default_timeout(LIMIT_MS)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "console",
            lambda said: self.complaints.append(said.text) if said.type == "error" else None,
        )
        await page.goto(url or self.url)
        await until(page, "globalThis.cubist?.status")
        return page


@contextlib.asynccontextmanager
async def running_robot(
    robot: str = "cubotino",
    speed: float = 20,
    seed: int = 5,
    misadjusted: Misadjustment | None = None,
) -> AsyncIterator[tuple[DemoStage, Path]]:
    """Yield a robot as in its profile, or ``misadjusted``, with its daemon, and their folder."""
    profile = load_profile(robot)
    options = DemoOptions(
        profile=profile,
        profile_file=profile_file(robot).resolve(),
        body=scrambled(profile.cube.size, seed),
        title=profile.title,
        speed=speed,
        seed=seed,
        misadjusted=misadjusted,
    )
    with workspace() as folder:
        simulation = Simulation(os.getpid(), profile.name, folder, speed)
        async with (
            Demo(options, SilentDisplay()).running(folder) as stage,
            SimulationController(options, stage).listening(simulation),
        ):
            yield stage, folder


@contextlib.asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    # Chromium's sandbox needs rights that root in a container may not have.
    arguments = ["--disable-webgl", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, args=arguments)
        try:
            yield browser
        finally:
            await browser.close()


@contextlib.asynccontextmanager
async def scene(robot: str = "cubotino", speed: float = 20, **more: Any) -> AsyncIterator[Scene]:
    async with (
        running_robot(robot, speed, **more) as (stage, folder),
        page_served(folder, wanted=True) as url,
        open_browser() as browser,
    ):
        yield Scene(stage, folder / "run" / SOCKET_NAME, url, browser)


ANSWER_BY_HAND = """() => {
  globalThis.asked = [];
  globalThis.fetch = (path, { method }) => new Promise((done) => {
    const reply = (found, status) => done({ ok: status === 200, status, json: async () => found });
    asked.push({ path, method, reply, isOpen: true });
  });
  globalThis.countAsked = (path) => asked.filter((one) => one.path.startsWith(path)).length;
  globalThis.answer = (path, found = {}, status = 200) => {
    for (const one of asked.filter((one) => one.isOpen && one.path.startsWith(path))) {
      one.isOpen = false;
      one.reply(found, status);
    }
    return new Promise((done) => setTimeout(done));
  };
  globalThis.idleWatcher = () => Object.assign(new EventTarget(), {
    status: { last_run: { id: "12" }, job: null }, motion: null, atUs: 0, isMoving: false,
  });
}"""
"""Script after which a page's requests stay open until a test answers those of a path."""


@contextlib.asynccontextmanager
async def page_answered_by_hand(url: str) -> AsyncIterator[BrowserPage]:
    """Yield a page whose requests the test answers, for panels that the test makes."""
    async with open_browser() as browser:
        page = await browser.new_page()
        await page.goto(url)
        await until(page, "globalThis.cubist?.status")
        await page.evaluate(ANSWER_BY_HAND)
        yield page


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
  if (shown(box) && box.clientWidth < wanted) found.push("the language is cut");
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


async def assert_shape(page: BrowserPage, where: str) -> None:
    """Assert that nothing on the page is too wide, cut off, or behind something else."""
    faults = await page.evaluate(FAULTS_OF_SHAPE)
    assert faults == [], f"{where}: {faults}"


COLOUR_RULES = {"runOnly": ["color-contrast", "link-in-text-block"]}


async def assert_accessible(page: BrowserPage, where: str, *others: str) -> None:
    """Assert that axe finds no problem, and none about colours in ``others``, colour schemes.

    The page was opened with ``bypass_csp``, because axe is our own script.
    """
    found = await Axe().run(page)
    assert found.violations_count == 0, f"{where}: {found.generate_report()}"
    for scheme in others:
        await page.emulate_media(color_scheme=scheme)
        found = await Axe("0").run(page, options=COLOUR_RULES)  # its script is already loaded
        assert found.violations_count == 0, f"{where}, {scheme}: {found.generate_report()}"


async def until(page: BrowserPage, expression: str) -> None:
    """Wait until an expression is true. The page's policy forbids Playwright's own method."""
    async with asyncio.timeout(LIMIT_MS / 1000):
        while not await page.evaluate(f"Boolean({expression})"):
            await asyncio.sleep(0.05)


async def hold_down(page: BrowserPage, button: str) -> None:
    """Press a button for as long as it takes to act."""
    await page.locator(f"{button}:enabled").hover()
    await page.mouse.down()
    await page.wait_for_timeout(900)
    await page.mouse.up()


async def hold(page: BrowserPage, button: str) -> None:
    """Press a button until it acts."""
    before = await page.evaluate("cubist.status.last_run?.id ?? null")
    await page.locator(button).hover()
    await page.mouse.down()
    last = json.dumps(before)
    await until(page, f"cubist.status.job || (cubist.status.last_run?.id ?? null) !== {last}")
    await page.mouse.up()
