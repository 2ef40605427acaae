"""The checks for a page in each language: texts fit and none is missing; amounts and addresses run left to right."""

from playwright.sync_api import Page

from merchants.languages import LANGUAGES
from tests.support.accessibility.page_rules import LARGE, RULES, SPACED, demand_none, violations, widest

_RIGHT_TO_LEFT = {"ar"}
_BY_AXE = {"ar", "de"}
# Colours are the same in all languages.
_RULES = {**RULES, "rules": {"target-size": {"enabled": True}, "color-contrast": {"enabled": False}}}
# Finds amounts, addresses and hashes in which a character is to the left of the one before it.
_TURNED = r"""() => {
  const kept = /[<$]*\d(?:[\d.,:-]*\d)?(?: ?(?:USDC|DAI|ETH|SOL))?|0x[\da-fA-F]+|[1-9A-HJ-NP-Za-km-z]{32,}/g;
  const isTurned = (node, { index, 0: text }) => {
    let last = null;
    for (let at = index; at < index + text.length; at += 1) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const box = range.getBoundingClientRect();
      if (box.width === 0) continue;
      if (last && Math.abs(box.top - last.top) < box.height / 2 && box.left < last.left) return true;
      last = box;
    }
    return false;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const turned = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.checkVisibility() || node.parentElement.closest("select, .hidden-text")) continue;
    for (const match of node.data.matchAll(kept)) if (isTurned(node, match)) turned.push(match[0]);
  }
  return turned;
}"""
# Finds digits of other scripts, unfilled placeholders, and values such as `undefined`.
_UNFILLED = (
    r"""() => document.body.innerText.match(/[٠-٩۰-۹०-९０-９]|\{\w+\}|undefined|\[object|NaN/g) ?? []"""
)


def assert_reads_in(page: Page, tag: str) -> None:
    """Check the page against the rules of its language. Leaves its window 320 px wide.

    axe's other rules depend on the markup, not on the words. So axe runs only for the languages in `_BY_AXE`:
    those with the longest words, and right-to-left ones.
    """
    assert tag in LANGUAGES
    root = page.locator("html")
    assert root.get_attribute("lang") == tag
    assert root.get_attribute("dir") == ("rtl" if tag in _RIGHT_TO_LEFT else "ltr")
    demand_none(page.evaluate(_UNFILLED), f"unfilled in {tag}")
    page.set_viewport_size({"width": 1280, "height": 800})
    demand_none(widest(page, LARGE), f"in {tag} at 200 %")
    page.set_viewport_size({"width": 320, "height": 800})
    for css in ("", SPACED):
        demand_none(widest(page, css), f"in {tag} at 320 px {css}")
    demand_none(page.evaluate(_TURNED), f"turned round in {tag}")
    if tag in _BY_AXE:
        demand_none(violations(page, _RULES), f"in {tag}")
