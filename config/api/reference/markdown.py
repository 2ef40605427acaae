"""Render the Markdown of our own OpenAPI descriptions as HTML.

Supports paragraphs, headings, lists, tables, code spans, emphasis and links, one block per blank-line group.
"""

import re

from django.utils.html import escape
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
    return mark_safe("".join(_block(block.strip("\n"), heading_level) for block in blocks if block))  # noqa: S308


def headings_of(text: str) -> list[tuple[str, str]]:
    """Return the anchor and the text of each first-level heading."""
    return [(slugify(title), title) for title in re.findall(r"^# (.+)$", text, re.MULTILINE)]


def inline(text: str) -> SafeString:
    """Return one line of Markdown as HTML."""
    parts = _CODE.split(text)
    html = (
        _styled(part) if place % 2 == 0 else f"<code>{escape(part)}</code>"
        for place, part in enumerate(parts)
    )
    return mark_safe("".join(html))  # noqa: S308


def _styled(text: str) -> str:
    html = str(escape(text))
    html = _LINK.sub(r'<a href="\2">\1</a>', html)
    html = _STRONG.sub(r"<strong>\1</strong>", html)
    return _EMPHASIS.sub(r"<em>\1</em>", html)


def _block(block: str, heading_level: int) -> str:
    lines = block.split("\n")
    heading = _HEADING.fullmatch(lines[0])
    if heading:
        level = heading_level + len(heading[1]) - 1
        rest = "\n".join(lines[1:])
        title = f'<h{level} id="{slugify(heading[2])}">{inline(heading[2])}</h{level}>'
        return title + (_block(rest, heading_level) if rest else "")
    if len(lines) > 1 and _RULE.fullmatch(lines[1]):
        return _table([lines[0], *lines[2:]])
    if _ITEM.match(lines[0]):
        return _list(lines)
    return f"<p>{inline(' '.join(line.strip() for line in lines))}</p>"


def _list(lines: list[str]) -> str:
    items: list[str] = []
    for line in lines:
        if _ITEM.match(line):
            items.append(_ITEM.sub("", line, count=1))
        else:  # a continued line
            items[-1] += " " + line.strip()
    tag = "ul" if lines[0].startswith("- ") else "ol"
    return f"<{tag}>{''.join(f'<li>{inline(item)}</li>' for item in items)}</{tag}>"


def _table(lines: list[str]) -> str:
    head, *rows = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines)
    body = "".join(_row(row, "td") for row in rows)
    return f'<div class="wide"><table><thead>{_row(head, "th")}</thead><tbody>{body}</tbody></table></div>'


def _row(cells: list[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{inline(cell)}</{tag}>" for cell in cells) + "</tr>"
