"""Render the Markdown of our own OpenAPI descriptions as HTML.

Supports paragraphs, headings, lists, tables, code spans, emphasis and links, one block per blank-line group.
"""

import re
from collections.abc import Iterable

from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify

_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\]]+)\]\(((?:https?://|/|#)[^)\s]+)\)")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")
_EMPHASIS = re.compile(r"\*([^*]+)\*")
_HEADING = re.compile(r"(#{1,3}) (.+)")
_ITEM = re.compile(r"(?:- |\d+\. )")
_RULE = re.compile(r"\|[\s|:-]+\|")


def html_of(text: str, heading_level: int = 2) -> SafeString:
    """Return `text` as HTML; `#` becomes a heading of `heading_level`."""
    blocks = re.split(r"\n\s*\n", text.strip())
    return _joined(_block(block.strip("\n"), heading_level) for block in blocks if block)


def headings_of(text: str) -> list[tuple[str, str]]:
    """Return the anchor and the text of each first-level heading."""
    return [(slugify(title), title) for title in re.findall(r"^# (.+)$", text, re.MULTILINE)]


def inline(text: str) -> SafeString:
    """Return one line of Markdown as HTML."""
    parts = _CODE.split(text)
    return _joined(
        _styled(part) if place % 2 == 0 else format_html("<code>{}</code>", part)
        for place, part in enumerate(parts)
    )


def _joined(parts: Iterable[SafeString]) -> SafeString:
    return format_html_join("", "{}", ((part,) for part in parts))


def _styled(text: str) -> SafeString:
    html = str(escape(text))
    html = _LINK.sub(r'<a href="\2">\1</a>', html)
    html = _STRONG.sub(r"<strong>\1</strong>", html)
    html = _EMPHASIS.sub(r"<em>\1</em>", html)
    return mark_safe(html)  # noqa: S308 - escaped above; only these tags are added


def _block(block: str, heading_level: int) -> SafeString:
    lines = block.split("\n")
    heading = _HEADING.fullmatch(lines[0])
    if heading:
        level = heading_level + len(heading[1]) - 1
        rest = "\n".join(lines[1:])
        anchor, title = slugify(heading[2]), inline(heading[2])
        html = format_html('<h{0} id="{1}">{2}</h{0}>', level, anchor, title)
        return html + _block(rest, heading_level) if rest else html
    if len(lines) > 1 and _RULE.fullmatch(lines[1]):
        return _table([lines[0], *lines[2:]])
    if _ITEM.match(lines[0]):
        return _list(lines)
    return format_html("<p>{}</p>", inline(" ".join(line.strip() for line in lines)))


def _list(lines: list[str]) -> SafeString:
    items: list[str] = []
    for line in lines:
        if _ITEM.match(line):
            items.append(_ITEM.sub("", line, count=1))
        else:  # a continued line
            items[-1] += " " + line.strip()
    tag = "ul" if lines[0].startswith("- ") else "ol"
    return format_html("<{0}>{1}</{0}>", tag, _each_in("li", items))


def _table(lines: list[str]) -> SafeString:
    head, *rows = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines)
    return format_html(
        '<div class="wide"><table><thead>{}</thead><tbody>{}</tbody></table></div>',
        _row(head, "th"),
        _joined(_row(row, "td") for row in rows),
    )


def _row(cells: list[str], tag: str) -> SafeString:
    return format_html("<tr>{}</tr>", _each_in(tag, cells))


def _each_in(tag: str, texts: list[str]) -> SafeString:
    return format_html_join("", "<{0}>{1}</{0}>", ((tag, inline(text)) for text in texts))
