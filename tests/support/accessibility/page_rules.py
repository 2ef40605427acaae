"""Rules for every state of the page: axe-core's, room for large text and narrow windows, and one status region."""

from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Frame, Page

from demo.services import packages
from demo.services.process import LOCAL
from tests.browsing import DESKTOP, PHONE
from tests.pictures import picture

# The text spacing of WCAG 1.4.12 for all elements, and text at 200 %.
SPACED = "* { line-height: 1.5; letter-spacing: .12em; word-spacing: .16em } p { margin-bottom: 2em }"
LARGE = "html { font-size: 200% }"
RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
    # This rule is part of WCAG 2.2, but axe turns it off by default.
    "rules": {"target-size": {"enabled": True}},
}
_BY_NIGHT = {"runOnly": {"type": "rule", "values": ["color-contrast"]}, "resultTypes": ["violations"]}
_ON_A_PHONE = {"runOnly": {"type": "rule", "values": ["color-contrast", "target-size"]}}
# Without scripts, the page reloads itself. It has a link to a version that doesn't (WCAG 2.2.1).
_STILL = "!!document.querySelector('a[href*=\"?still\"]')"
_VIOLATIONS = """options => axe.run(document, options).then(({ violations }) => violations.flatMap(
  ({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} at ${target.join(" ")}: ${failureSummary}`)))"""
# The page's policy blocks inline styles. So a style sheet is added and removed again.
_WIDEST = """css => {
  const before = [...document.adoptedStyleSheets];
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets = [...before, sheet];
  const root = document.documentElement;
  const inside = [...document.querySelectorAll("body *")].filter((element) => {
    const { left, right } = element.getBoundingClientRect();
    const isOverfull = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 1;
    const isOut = right > root.clientWidth + 1 || left < -1 || (root.scrollWidth > root.clientWidth && isOverfull);
    return isOut && element.checkVisibility() && !element.closest(".hidden-text");
  });
  const shown = inside.slice(-3).map((element) => element.outerHTML.slice(0, 120));
  const isWider = root.scrollWidth > root.clientWidth || shown.length > 0;
  const found = isWider ? [`${root.scrollWidth} of ${root.clientWidth} px`, ...shown] : [];
  document.adoptedStyleSheets = before;
  return found;
}"""
# A field's error is read with the field, so it doesn't count as a status.
_STATUSES = """() => [...document.querySelectorAll("[role=status],[role=alert],[role=log],[aria-live],output")]
  .map(({ id }) => id).filter((id) => !document.querySelector(`[aria-describedby~="${id}"]`))"""


@cache
def _axe() -> str:
    installed = packages.install(Path(__file__).parent, LOCAL / "axe", "axe-core")
    return (installed / "node_modules" / "axe-core" / "axe.min.js").read_text()


def open_bare(page: Page, url: str) -> None:
    """Open the page as a browser without scripts shows it. Afterwards, only the test's own scripts run."""
    switch = page.context.new_cdp_session(page)
    switch.send("Emulation.setScriptExecutionDisabled", {"value": True})
    page.goto(url)
    switch.send("Emulation.setScriptExecutionDisabled", {"value": False})
    # The checks treat this element as hidden, even if the browser shows it.
    page.evaluate(
        "document.body.querySelectorAll('noscript').forEach((one) => one.replaceWith(...one.childNodes))"
    )


def assert_accessible(page: Page) -> None:
    """Check all rules: in light and dark colours, wide and narrow windows, with large and spaced text."""
    picture(page)
    page.set_viewport_size(DESKTOP)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    demand_none(violations(page, RULES), "on a desktop")
    assert_fits(page)
    page.set_viewport_size(PHONE)
    demand_none(violations(page, _ON_A_PHONE), "on a phone")
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    demand_none(violations(page, _BY_NIGHT), "by night")
    demand_none(page.evaluate(_STATUSES)[1:], "live regions beside the first")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(DESKTOP)


def assert_fits(page: Page) -> None:
    """Check that nothing is wider than a narrow window, or than the window with spaced or enlarged text.

    A window of 1280 px is 640 px wide at 200 %, and 320 px at 400 % (WCAG 1.4.4, 1.4.10).
    """
    for width, looks in ((1280, [SPACED, LARGE]), (640, [""]), (320, ["", SPACED])):
        page.set_viewport_size({"width": width, "height": 800})
        for css in looks:
            demand_none(widest(page, css), f"at {width} px {css}")


def violations(page: Page | Frame, options: dict[str, Any]) -> list[str]:
    """Return axe's findings in this document as texts, without those in frames."""
    # axe is large, so it is loaded once per document, not once per state.
    if not page.evaluate("'axe' in window"):
        page.evaluate(_axe())
    found: list[str] = page.evaluate(_VIOLATIONS, options)
    can_be_stilled = page.evaluate(_STILL)
    return [one for one in found if not (can_be_stilled and one.startswith("meta-refresh at"))]


def widest(page: Page | Frame, css: str) -> list[str]:
    """Return the elements that are wider than the current window, with this style added."""
    found: list[str] = page.evaluate(_WIDEST, css)
    return found


def demand_none(found: list[str], where: str) -> None:
    """Fail with a list of the findings, if there are any."""
    if found:
        raise AssertionError("\n".join([f"{where}:", *found]))
