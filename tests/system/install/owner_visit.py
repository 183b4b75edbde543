"""An owner at the page, in a browser in the container, restarts the service at rest and at work.

``python -P -m tests.system.install.owner_visit URL`` prints ``NAME=VALUE`` lines.
"""

from __future__ import annotations

import asyncio
import sys

from playwright.async_api import Page

from tests.rig.browser import LIMIT_MS, hold, hold_down, open_browser, until

ASK = """async () => (await fetch("/api/restart", {
  method: "POST",
  headers: { "X-Cubist": "1", "Content-Type": "application/json" },
  body: JSON.stringify({ force: false }),
})).status"""


async def press_restart(page: Page) -> str:
    """Hold the button and return what the page says when it has the new daemon by itself."""
    before = await page.evaluate("cubist.status.process")
    await hold_down(page, "#restart")
    await until(page, f"cubist.gone === null && cubist.status.process !== {before}")
    await until(page, "document.getElementById('restart-answer').textContent.includes('again')")
    return str(await page.text_content("#restart-answer"))


async def visit(url: str) -> None:
    async with open_browser() as browser:
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(LIMIT_MS)
        await page.goto(url)
        await until(page, "globalThis.cubist?.status")
        await page.click("#tab-owner")
        await page.wait_for_selector("#restart")
        print(f"owner_restarted={await press_restart(page)}")
        await page.click("#tab-live")
        await hold(page, "#scramble")  # its cube is solved
        await until(page, "cubist.status.state === 'turning'")
        print(f"owner_refused={await page.evaluate(ASK)}")
        await page.click("#tab-owner")
        await until(page, "document.getElementById('restart').textContent !== 'Restart'")
        print(f"owner_button={await page.text_content('#restart')}")
        print(f"owner_forced={await press_restart(page)}")
        await until(page, "cubist.status.last_run?.outcome")
        print(f"owner_run={await page.evaluate('cubist.status.last_run.outcome')}")


if __name__ == "__main__":
    asyncio.run(visit(sys.argv[1]))
