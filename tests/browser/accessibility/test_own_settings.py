"""The page follows the customer's system settings: forced colours, more contrast, less motion."""

import base64
from collections.abc import Iterator

import pytest
from django.utils import timezone
from playwright.sync_api import FloatRect, Locator, Page, expect

from chains.models import Chain
from payments.models import FailureCode
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import HASH, complete, hold, refresh, review
from tests.browsing import resting_picture
from tests.pictures import picture
from tests.support.accessibility.page_rules import demand_none, violations
from tests.support.payments.rows import change, new_payment
from tests.support.payments.world import ON_ITS_WAY
from tests.support.wallets.sent_here import sent_here
from tests.support.wallets.stub import NAME

_CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}, "resultTypes": ["violations"]}
# Finds controls without a visible edge, and boxes that only their background sets apart.
_UNEDGED = """() => {
  const things = "button, input:not([type=hidden]), select, .button, .notice, .transaction, .tick, progress, .tag";
  const ground = getComputedStyle(document.body).backgroundColor;
  return [...document.querySelectorAll(things)].filter((element) => {
    const { borderTopWidth: width, borderTopStyle: style, borderTopColor: colour } = getComputedStyle(element);
    const isEdged = parseFloat(width) >= 1 && style !== "none" && colour !== ground && !/^rgba.*, 0\\)$/.test(colour);
    return element.checkVisibility() && element.getBoundingClientRect().width > 1 && !isEdged;
  }).map((element) => element.outerHTML.slice(0, 80) + getComputedStyle(element).border);
}"""
_RING = """() => {
  const { activeElement: element } = document;
  if (element === document.body) return null;
  const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
  const { backgroundColor } = getComputedStyle(document.body);
  const isSeen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && outlineColor !== backgroundColor;
  return [element.outerHTML.slice(0, 80), isSeen];
}"""
# Returns the colours of a picture, the most frequent first.
_COLOURS = """async (png) => {
  const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes]));
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
  canvas.drawImage(bitmap, 0, 0);
  const { data } = canvas.getImageData(0, 0, bitmap.width, bitmap.height);
  const counts = new Map();
  for (let at = 0; at < data.length; at += 4) {
    const colour = data.slice(at, at + 3).join();
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  return [...counts].sort((one, other) => other[1] - one[1]).map(([colour, count]) => [colour, count]);
}"""


@pytest.fixture
def own_colours(page: Page) -> Iterator[Page]:
    """The page in a system's forced colours: white on black."""
    page.emulate_media(forced_colors="active", color_scheme="dark", reduced_motion="reduce")
    yield page
    page.emulate_media(forced_colors="none")


def colours(part: Locator) -> list[str]:
    """Return the two most frequent colours of this part."""
    part.scroll_into_view_if_needed()
    png = base64.b64encode(
        resting_picture(part, lambda box: part.page.screenshot(clip=FloatRect(**box)))
    ).decode()
    blank = part.page.context.new_page()
    found = blank.evaluate(_COLOURS, png)
    blank.close()
    return [colour for colour, _ in found[:2]]


def marker(step: Locator) -> bytes:
    """Return a picture of the mark before a step's text."""
    return resting_picture(
        step,
        lambda box: step.page.screenshot(clip={"x": box["x"], "y": box["y"] - 2, "width": 32, "height": 32}),
    )


def expect_edges(page: Page) -> None:
    """With forced colours, check that everything has an edge, and that Tab shows a focus ring on each element."""
    picture(page)
    demand_none(page.evaluate(_UNEDGED), "without an edge")
    for _ in range(40):
        page.keyboard.press("Tab")
        ring = page.evaluate(_RING)
        if ring is None:
            return
        demand_none([ring[0]] * (not ring[1]), "without a ring")


def test_forced_colors_show_wallets_and_the_code_for_a_phone(
    own_colours: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    own_colours.goto(create(cancel_url="https://shop.example/basket")["payment_url"])
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    expect_edges(own_colours)
    assert sorted(colours(own_colours.locator(".elsewhere__qr"))) == ["0,0,0", "255,255,255"]


def test_forced_colors_tell_current_steps_from_later_ones(
    own_colours: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={"personal_sign": [{"gives": "0x" + "11" * 65}]})
    hold(own_colours, "**/payer-proof")
    review(own_colours, panel, create(references=False)).click()
    expect(panel).to_contain_text("Checking your signature")
    expect_edges(own_colours)
    steps = panel.get_by_role("listitem")
    assert marker(steps.nth(0)) != marker(steps.nth(1))


def test_forced_colors_show_progress_failure_and_success(
    own_colours: Page, panel: Locator, create: Create, chain: Chain
) -> None:
    page, order = own_colours, create()
    payment = new_payment(
        request_id=order["id"],
        chain=chain,
        transaction_hash=HASH,
        status="processing",
        confirmations_required=12,
        **ON_ITS_WAY,
    )
    change(payment, confirmations=2)
    page.goto(order["payment_url"])
    sent_here(page, order, HASH)
    done, current, todo = (
        panel.locator(".step--done"),
        panel.locator(".step--current"),
        panel.locator(".step--todo"),
    )
    expect(current).to_contain_text("2 of 12")
    expect_edges(page)
    assert len({marker(done.first), marker(current), marker(todo)}) == 3
    failed = {
        "failure_code": FailureCode.TRANSACTION_REVERTED,
        "failed_at": timezone.now(),
        "status": "failed",
    }
    change(payment, **failed)
    refresh(page)
    expect(panel.get_by_role("heading", name="did not go through")).to_be_visible()
    expect_edges(page)
    complete(order)
    refresh(page)
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible()
    expect_edges(page)
    assert len(set(colours(panel.locator(".tick")))) == 2


def test_forced_colors_keep_the_code_black_on_white(own_colours: Page, create: Create) -> None:
    own_colours.goto(create()["payment_url"] + "/by-hand")
    own_colours.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    expect_edges(own_colours)
    code = own_colours.locator(".scan__code")
    expect(code).to_be_visible()
    assert sorted(colours(code)) == ["0,0,0", "255,255,255"]


def test_more_contrast_leaves_no_grey_text(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.emulate_media(contrast="more")
    page.goto(create()["payment_url"])
    help_text = panel.locator(".help").first
    expect(help_text).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(contrast="more", color_scheme=scheme)
        # Read all colours in one call: the panel is drawn again when the search for wallets ends.
        inks = page.evaluate(
            "['#panel .help', 'h2'].map((part) => getComputedStyle(document.querySelector(part)).color)"
        )
        assert inks[0] == inks[1]
        demand_none(violations(page, _CONTRAST), f"with more contrast, {scheme}")
    picture(page)


def test_reduced_motion_stops_the_spinner(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    hold(page, "**/routes")
    review(page, panel, create())
    expect(panel.locator(".spinner")).to_be_visible()
    running = "document.getAnimations().filter(({ playState }) => playState === 'running').length"
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(running) > 0
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(running) == 0


def test_focus_is_never_covered_at_400_percent(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.set_viewport_size({"width": 320, "height": 256})
    expect(review(page, panel, create(cancel_url="https://shop.example/basket"))).to_be_visible()
    seen = 0
    for _ in range(40):
        page.keyboard.press("Tab")
        focus = page.evaluate(_COVERED)
        if focus is None:
            break
        seen += 1
        assert focus[1], f"covered: {focus[0]}"
    assert seen > 3


# Finds focused elements that are hidden behind others or outside the window (WCAG 2.4.11).
_COVERED = """() => {
  const { activeElement: element } = document;
  if (element === document.body) return null;
  const { left, right, top, bottom } = element.getBoundingClientRect();
  const spots = [top + 3, (top + bottom) / 2, bottom - 3].filter((y) => y >= 0 && y < innerHeight);
  const isSeen = spots.some((y) => element.contains(document.elementFromPoint((left + right) / 2, y)));
  return [element.outerHTML.slice(0, 80), isSeen];
}"""
