"""The page keeps its layout on a desk and on a phone, in every state."""

from __future__ import annotations

from playwright.async_api import Page as BrowserPage

from robot.text.languages import LANGUAGES
from tests.rig.browser import (
    PHONE,
    assert_accessible,
    assert_shape,
    hold,
    needs_browser,
    scene,
    until,
)

pytestmark = needs_browser

WINDOWS = {"desk": {"width": 1280, "height": 800}, "phone": PHONE}
PANELS = ("live", "plan", "runs", "statistics", "calibration", "owner")

IN_SIGHT = """(id) => {
  const { left, top, width, height } = document.getElementById(id).getBoundingClientRect();
  return [0.05, 0.95].every((y) =>
    document.elementFromPoint(left + width / 2, top + y * height)?.closest("button")?.id === id);
}"""


OUT_OF_VIEW = """() => {
  const floor = document.getElementById("stops").getBoundingClientRect().top;
  const wanted = "#cube, #picture, #step, #timer:not(:empty), #moves-now [data-state=now]";
  const parts = [...document.querySelectorAll(wanted)];
  return parts.filter((part) => {
    const { left, top, right, bottom } = part.getBoundingClientRect();
    return right <= left || bottom <= top || left < 0 || right > innerWidth || bottom > floor;
  }).map((part) => part.id || part.textContent);
}"""


async def assert_every_panel(page: BrowserPage, where: str, *, accessible: bool = False) -> None:
    await page.bring_to_front()
    for panel in PANELS:
        await page.click(f"#tab-{panel}")
        await page.wait_for_selector(f"#{panel} *")
        await assert_shape(page, f"{panel}, {where}")
        if accessible:
            await assert_accessible_in_both_schemes(page, f"{panel}, {where}")
    await page.evaluate("location.hash = '#/kiosk'")
    await page.wait_for_selector("body.kiosk")
    await assert_shape(page, f"kiosk, {where}")
    assert await page.evaluate(OUT_OF_VIEW) == [], f"kiosk, {where}"
    await page.click("#leave-kiosk")


async def assert_accessible_in_both_schemes(page: BrowserPage, where: str) -> None:
    await page.emulate_media(color_scheme="light")
    await assert_accessible(page, where, "dark")


async def assert_run(page: BrowserPage, where: str) -> None:
    await page.wait_for_selector("#run-heading")
    assert page.url.endswith("#/runs/1"), "an address of a run stays one"
    for keepsake in ("run-collage", "run-time-lapse"):
        await page.click(f"#{keepsake} summary")
        await page.wait_for_selector(f"#{keepsake} img:visible")
    await assert_shape(page, f"a run, {where}")
    await assert_accessible_in_both_schemes(page, f"a run, {where}")


async def test_every_panel_in_every_state():
    async with scene(speed=6) as here:
        pages = {
            name: await here.open(size, bypass_csp=True, color_scheme=scheme)
            for (name, size), scheme in zip(WINDOWS.items(), ("light", "dark"), strict=True)
        }
        desk, phone = pages.values()
        for button in ("#start", "#stop", "#estop"):
            box = await phone.locator(button).bounding_box()
            assert box["y"] + box["height"] <= PHONE["height"], button
            assert min(box["width"], box["height"]) >= 44, button
        for name, page in pages.items():
            await assert_every_panel(page, f"idle, {name}", accessible=True)
        await desk.bring_to_front()
        assert await desk.evaluate(IN_SIGHT, "start")
        await hold(desk, "#start")
        await until(desk, "cubist.motion?.purpose === 'turn'")
        await desk.wait_for_selector("#picture-age[data-live=true]")
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
            await assert_run(page, name)
            await page.evaluate("location.hash = '#/kiosk'")
            await page.wait_for_selector("body.kiosk")
            await assert_accessible_in_both_schemes(page, f"kiosk, {name}")
            await page.click("#leave-kiosk")
        for panel in PANELS:  # its address opens it, also in a new window
            await desk.goto(f"{here.origin}/#/{panel}")
            await desk.reload()
            await desk.wait_for_selector(f"#{panel}:visible")
            assert desk.url.endswith(f"#/{panel}")
        for language in LANGUAGES:  # on the phone, where texts have the least room
            await phone.select_option("#language", language)
            await until(phone, f"document.documentElement.lang === '{language}'")
            await assert_every_panel(phone, language)
        assert here.complaints == []
