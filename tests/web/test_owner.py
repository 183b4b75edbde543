"""An owner's part of the page in a real browser, in front of a whole simulated robot."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.async_api import Page as BrowserPage

from tests.rig.browser import (
    PHONE,
    Scene,
    assert_accessible,
    assert_shape,
    hold,
    hold_down,
    needs_browser,
    page_answered_by_hand,
    scene,
    until,
)
from tests.rig.page_server import TOKEN

pytestmark = needs_browser
DESK = {"width": 1280, "height": 800}


def text_of(element: str) -> str:
    return f"document.getElementById('{element}').textContent"


async def open_owner(page: BrowserPage) -> None:
    await page.click("#tab-owner")
    await until(page, "document.querySelector('#simulation-fault option')")
    await until(page, "document.getElementById('profile-text').value")
    await until(page, text_of("log"))


async def keep_a_profile(page: BrowserPage) -> None:
    """Check that a bad profile is named with its line and cannot be kept, and a good one can."""
    before = await page.input_value("#profile-text")
    await page.fill("#profile-text", before.replace("title:", "titel:", 1))
    await until(page, "document.querySelector('#profile-complaints .line')")
    assert await page.locator("#profile-keep").is_disabled()
    await page.locator("#profile-complaints .line").last.click()
    chosen = await page.evaluate("getSelection().toString()")
    assert "titel" in chosen, "the line is shown"
    written = f"{before}\n# The lid was replaced.\n"
    await page.fill("#profile-text", written)
    await page.select_option("#language", "it")
    await until(page, "document.documentElement.lang === 'it'")
    assert await page.input_value("#profile-text") == written, "what somebody writes stays"
    await page.click("#profile-keep")
    await until(page, f"{text_of('profile-answer')}.includes('1')")
    await page.select_option("#language", "en")
    await until(page, f"{text_of('profile-answer')}.includes('after a restart')")


TYPED = """async () => {
  const { ProfileCard } = await import("/static/profile.js"), card = new ProfileCard(), found = {};
  const of = (part) => document.getElementById(`profile-${part}`);
  const type = (text) => {
    of("text").value = text;
    of("text").dispatchEvent(new Event("input"));
  };
  const note = (name) => { found[name] = [of("text").value, of("answer").textContent]; };
  const show = async (text, version) => {
    const versions = [{ version: 0 }, { version, is_in_force: true }];
    await answer("/api/profile/versions", { versions });
    await answer("/api/profile", { text, version, running: 1, ok: true });
  };
  document.body.append(card.element);
  card.rights = { allowed: true };
  card.load();
  await show("first", 1);
  document.querySelector("#profile-versions ul button").click();
  await answer("/api/profile/versions/0", { reason: "busy" }, 503);
  note("view failed");
  type("second");
  document.querySelector("[data-version='0']").click();
  await show("original", 2);
  note("went back");
  of("keep").disabled = false; // as after a check
  of("keep").click();
  type("third");
  await answer("/api/profile", { version: 3 });
  await show("second", 3);
  note("typed on");
  return found;
}"""


async def test_the_text_that_a_person_types_in_a_profile_stays(page):
    async with page_answered_by_hand(f"{page.url}/#{TOKEN}") as window:
        found = await window.evaluate(TYPED)
    assert found["view failed"] == ["first", "The profile cannot be shown: busy"]
    assert found["went back"] == ["second", "Keep or discard your changes first."]
    assert found["typed on"][0] == "third" and "is kept" in found["typed on"][1]


async def restart(page: BrowserPage) -> None:
    before = await page.evaluate("cubist.status.process")
    await hold_down(page, "#restart")
    await until(page, f"cubist.status.process !== {before} && cubist.gone === null")
    await until(page, f"{text_of('restart-answer')}.includes('again')")


async def handle_the_cube(here: Scene, page: BrowserPage) -> None:
    """Let a fault happen as a class would, and repair it; remove and insert a cube."""
    await page.click("#simulation-remove")
    await until(page, text_of("simulation-answer"))
    await page.fill("#simulation-moves", "R U2")
    await page.click("#simulation-own")
    await until(page, f"{text_of('simulation-answer')} === 'Done.'")
    assert not here.robot.solved
    await page.fill("#simulation-moves", "R9")
    await page.click("#simulation-own")
    await until(page, f"{text_of('simulation-answer')}.startsWith('Not done')")
    await page.select_option("#simulation-fault", "jam")
    await page.select_option("#simulation-subject", "lid")
    await page.click("#simulation-happen")
    await page.click("#simulation-mend")
    await until(page, f"{text_of('simulation-answer')} === 'Done.'")


async def test_an_owner_looks_after_the_robot_on_the_page():
    async with scene(speed=8) as here:
        page = await here.open(DESK, bypass_csp=True)
        phone = await here.open(PHONE, locale="de-DE", color_scheme="dark", bypass_csp=True)
        await open_owner(page)
        await page.click("#check-up")
        await until(page, "document.querySelectorAll('.findings li').length > 1")
        assert "cubistd" in str(await page.text_content(".findings"))
        await keep_a_profile(page)
        await handle_the_cube(here, page)
        await page.locator("#restart").click()
        assert "hold" in str(await page.text_content("#restart-answer"))
        await restart(page)
        await until(page, f"{text_of('log')}.includes('version 1')")
        await phone.bring_to_front()
        await open_owner(phone)
        await phone.click("#check-up")
        await until(phone, "document.querySelectorAll('.findings li').length > 1")
        assert "cubotino ist simuliert" in str(await phone.text_content(".findings"))
        for one, where in ((page, "desk"), (phone, "phone")):
            await assert_shape(one, where)
            await assert_accessible(one, where)
        await page.bring_to_front()
        await page.click("#tab-live")
        await hold(page, "#start")
        await until(page, text_of("doing"))
        await page.click("#tab-plan")
        rows = page.locator("#plan-steps li")
        assert re.match("(Turn|Flip|Roll|Hold|Let|Look)", str(await rows.first.text_content()))
        await until(page, "document.querySelector('#plan-steps li[data-state=now]')")
        await page.click("#tab-owner")
        await page.wait_for_selector("#simulation-own:disabled")
        await until(page, f"{text_of('restart')} === 'Stop the robot and restart'")
        await restart(page)
        await until(page, "cubist.status.last_run?.outcome === 'stopped'")
        assert here.robot.violations == []
        errors = [text for text in here.complaints if not re.search("status of (40|503)", text)]
        assert errors == [], "requests may be refused, as while the daemon restarts"


@pytest.mark.long
async def test_pictures_of_the_owner_s_page(tmp_path):
    """Keep the picture in the folder that CUBIST_PICTURES names: docs/pictures."""
    kept = Path(os.environ.get("CUBIST_PICTURES", tmp_path))
    async with scene() as here:
        desk = await here.open({"width": 1180, "height": 960})
        await open_owner(desk)
        await desk.click("#check-up")
        await until(desk, "document.querySelectorAll('.findings li').length > 1")
        # Readers have the file in another place than this checkout.
        await desk.evaluate(
            "document.getElementById('profile-text').closest('.card').querySelector('code')"
            ".textContent = 'cubotino.yaml'"
        )
        await desk.mouse.click(1, 1)
        await desk.screenshot(path=kept / "page-owner.png")
