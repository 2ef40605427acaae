"""Convert the Markdown of the OpenAPI document to HTML."""

import pytest

from config.api.reference.markdown import headings_of, html_of, inline


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("One\nsentence.", "<p>One sentence.</p>"),
        ("# A payment", '<h2 id="a-payment">A payment</h2>'),
        ("# Calls\nEach one.", '<h2 id="calls">Calls</h2><p>Each one.</p>'),
        ("- one\n  line\n- `two`", "<ul><li>one line</li><li><code>two</code></li></ul>"),
        ("1. one\n2. two", "<ol><li>one</li><li>two</li></ol>"),
        (
            "| a | b |\n|---|---|\n| `c` | d |",
            '<div class="wide"><table><thead><tr><th>a</th><th>b</th></tr></thead>'
            "<tbody><tr><td><code>c</code></td><td>d</td></tr></tbody></table></div>",
        ),
    ],
)
def test_block_becomes_its_html_element(text: str, html: str) -> None:
    assert html_of(text) == html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**bold** and *soft*", "<strong>bold</strong> and <em>soft</em>"),
        ("`a*b*c`", "<code>a*b*c</code>"),
        ("[here](https://example.com/a)", '<a href="https://example.com/a">here</a>'),
        ("[here](javascript:alert(1))", "[here](javascript:alert(1))"),
        ("<script> & `<b>`", "&lt;script&gt; &amp; <code>&lt;b&gt;</code>"),
    ],
)
def test_inline_markup_is_rendered_and_html_escaped(text: str, html: str) -> None:
    assert inline(text) == html


def test_first_level_headings_have_anchors() -> None:
    assert headings_of("# Four calls\n\nText.\n\n## Not this\n\n# Errors") == [
        ("four-calls", "Four calls"),
        ("errors", "Errors"),
    ]
