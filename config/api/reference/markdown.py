"""Render the Markdown of our own OpenAPI descriptions as HTML (CommonMark and tables; raw HTML is escaped)."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.token import Token

_RULES = {
    "softbreak": " ",
    "table_open": '<div class="wide"><table>',
    "table_close": "</table></div>",
}


def html_of(text: str) -> SafeString:
    """Return `text` as HTML; `#` becomes an h2."""
    tokens = _parser().parse(text)
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", slugify(tokens[place + 1].content))
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{int(token.tag[1]) + 1}"
    return _safe(_parser().renderer.render(tokens, _parser().options, {}))


def headings_of(text: str) -> list[tuple[str, str]]:
    """Return the anchor and the text of each first-level heading."""
    return [(slugify(title), title) for title in re.findall(r"^# (.+)$", text, re.MULTILINE)]


def inline(text: str) -> SafeString:
    """Return one line of Markdown as HTML."""
    return _safe(_parser().renderInline(text))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    for name, html in _RULES.items():
        parser.add_render_rule(name, _constant(html))
    return parser


def _constant(html: str) -> Any:
    def rule(_renderer: Any, _tokens: Sequence[Token], _place: int, _options: Any, _env: Any) -> str:
        return html

    return rule


def _safe(html: str) -> SafeString:
    # The parser escapes the text, so the HTML is safe. The parser writes line feeds only between blocks.
    return mark_safe(html.replace("\n", ""))  # noqa: S308
