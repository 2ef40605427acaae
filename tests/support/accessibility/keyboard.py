"""Use the page by keyboard alone: press Tab up to an element, with a visible focus at each step, then Enter."""

from playwright.sync_api import Frame, Page

MAX_TABS = 60
# A heading can't be operated, so it needs no focus ring. It must only be in view.
_FOCUS = """() => {
  let { activeElement: element } = document;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  if (!element || element === document.body || element instanceof HTMLIFrameElement) return null;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const { top, bottom } = element.getBoundingClientRect();
  const isOperable = element.tabIndex >= 0;
  const isMarked = !isOperable || (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2);
  const text = [element.innerText, element.ariaLabel, ...[...(element.labels ?? [])].map((label) => label.innerText)];
  return { text: text.join(" "), isOperable, isSeen: isMarked && bottom > 0 && top < innerHeight };
}"""


def is_focus_seen(page: Page | Frame) -> bool:
    """Whether the focused element is in view and, if it can be operated, has a focus ring."""
    focus = page.evaluate(_FOCUS)
    return focus is not None and bool(focus["isSeen"])


def reach(page: Page, *texts: str, inside: Frame | None = None) -> None:
    """Press Tab until an element with all these texts has the focus, in this frame or in the page."""
    document = inside or page
    for _ in range(MAX_TABS):
        focus = document.evaluate(_FOCUS)
        if focus and focus["isOperable"] and all(text in focus["text"] for text in texts):
            return
        page.keyboard.press("Tab")
        focus = document.evaluate(_FOCUS)
        assert focus is None or focus["isSeen"], f"the focus can't be seen on {focus['text']!r}"
    raise AssertionError(f"{texts} can't be reached by keyboard")


def press(page: Page, *texts: str, inside: Frame | None = None) -> None:
    reach(page, *texts, inside=inside)
    page.keyboard.press("Enter")
