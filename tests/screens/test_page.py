"""The page keeps its shape on a desk and on a phone, in every state that it has."""

from __future__ import annotations

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page as BrowserPage

from robot.text.languages import LANGUAGES
from tests.rig.browser import PHONE, assert_shape, hold, needs_browser, scene, until

pytestmark = needs_browser

WINDOWS = {"desk": {"width": 1280, "height": 800}, "phone": PHONE}
PANELS = ("live", "plan", "runs", "statistics", "calibration")

IN_SIGHT = """(id) => {
  const { left, top, width, height } = document.getElementById(id).getBoundingClientRect();
  return [0.05, 0.95].every((y) =>
    document.elementFromPoint(left + width / 2, top + y * height)?.closest("button")?.id === id);
}"""


async def assert_every_panel(page: BrowserPage, where: str, *, accessible: bool = False) -> None:
    """Assert that every panel has its shape, and that anybody can use it."""
    await page.bring_to_front()
    for panel in PANELS:
        await page.click(f"#tab-{panel}")
        await page.wait_for_selector(f"#{panel} *")
        await assert_shape(page, f"{panel}, {where}")
        if accessible:
            found = await Axe().run(page)
            assert found.violations_count == 0, f"{panel}, {where}: {found.generate_report()}"
    await page.click("#tab-live")


async def assert_buttons_are_large_and_in_sight(page: BrowserPage) -> None:
    for button in ("#start", "#stop", "#estop"):
        box = await page.locator(button).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= PHONE["height"], button
        assert min(box["width"], box["height"]) >= 44, button


async def test_every_panel_in_every_state() -> None:
    """Idle, working, in a fault, in every language; and one run with its pictures."""
    async with scene(speed=6) as here:
        # Axe is a script of ours, which the page's policy forbids.
        pages = {
            name: await here.open(size, bypass_csp=True, color_scheme=scheme)
            for (name, size), scheme in zip(WINDOWS.items(), ("light", "dark"), strict=True)
        }
        desk, phone = pages.values()
        await assert_buttons_are_large_and_in_sight(phone)
        for name, page in pages.items():
            await assert_every_panel(page, f"idle, {name}", accessible=True)
        await desk.bring_to_front()
        assert await desk.evaluate(IN_SIGHT, "start")
        await hold(desk, "#start")
        await until(desk, "cubist.motion?.purpose === 'turn'")
        await desk.wait_for_selector("#picture.old")
        assert "ago" in str(await desk.text_content("#picture-text"))
        for name, page in pages.items():
            await assert_every_panel(page, f"working, {name}")
        await desk.bring_to_front()
        await desk.locator("#estop").click()
        await until(desk, "cubist.status.state === 'fault' && !cubist.status.job")
        for name, page in pages.items():
            for button in ("acknowledge", "home-after-stop"):
                assert await page.evaluate(IN_SIGHT, button), f"the remedy: {button} ({name})"
            await assert_every_panel(page, f"fault, {name}")
            await page.goto(f"{here.origin}/#/runs/1")
            await page.reload()
            await page.wait_for_selector("#run-heading")
            assert page.url.endswith("#/runs/1"), "an address of a run stays one"
            await assert_shape(page, f"a run, {name}")
        for language in LANGUAGES:  # on the phone, where texts have the least room
            await phone.select_option("#language", language)
            await until(phone, f"document.documentElement.lang === '{language}'")
            await assert_every_panel(phone, language)
        assert here.complaints == []
