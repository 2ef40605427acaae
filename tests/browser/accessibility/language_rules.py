"""What every state is held to in every language: its words fit, are all there, and turn no amount or address round."""

from playwright.sync_api import Page

from merchants.languages import LANGUAGES
from tests.support.accessibility.page_rules import LARGE, RULES, SPACED, demand_none, violations, widest

_RIGHT_TO_LEFT = {"ar"}
# Which colours stand on which is the same in all languages.
_RULES = {**RULES, "rules": {"target-size": {"enabled": True}, "color-contrast": {"enabled": False}}}
# Amounts with their symbols, addresses and hashes whose characters do not stand from left to right on a line.
_TURNED = r"""() => {
  const told = /[<$]*\d(?:[\d.,:-]*\d)?(?: ?(?:USDC|DAI|ETH|SOL))?|0x[\da-fA-F]+|[1-9A-HJ-NP-Za-km-z]{32,}/g;
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
    for (const match of node.data.matchAll(told)) if (isTurned(node, match)) turned.push(match[0]);
  }
  return turned;
}"""
# Another script's digits, what a message forgot to fill in, and what is no word at all.
_UNTOLD = r"""() => document.body.innerText.match(/[٠-٩۰-۹०-९０-９]|\{\w+\}|undefined|\[object|NaN/g) ?? []"""


def assert_reads_in(page: Page, tag: str, *, by_axe: bool = True) -> None:
    """Hold the page as it stands to the rules of its language; its window is 320 px wide afterwards.

    What axe alone would say can be left out where the same words stand in another state.
    """
    assert tag in LANGUAGES
    root = page.locator("html")
    assert root.get_attribute("lang") == tag
    assert root.get_attribute("dir") == ("rtl" if tag in _RIGHT_TO_LEFT else "ltr")
    demand_none(page.evaluate(_UNTOLD), f"untold in {tag}")
    page.set_viewport_size({"width": 1280, "height": 800})
    demand_none(widest(page, LARGE), f"in {tag} at 200 %")
    page.set_viewport_size({"width": 320, "height": 800})
    for css in ("", SPACED):
        demand_none(widest(page, css), f"in {tag} at 320 px {css}")
    demand_none(page.evaluate(_TURNED), f"turned round in {tag}")
    if by_axe:
        demand_none(violations(page, _RULES), f"in {tag}")
