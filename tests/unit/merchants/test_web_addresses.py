"""The same syntax rules apply to every URL that a merchant enters."""

import pytest

from merchants.web_addresses import WebAddress, parse_web_address, split_web_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://shop.example", WebAddress("https", "shop.example", 443, "/")),
        ("HTTPS://Shop.Example/A?b=C#d", WebAddress("https", "shop.example", 443, "/A?b=C")),
        ("https://shop.example:8443?x", WebAddress("https", "shop.example", 8443, "/?x")),
        ("https://shop.example./x", WebAddress("https", "shop.example", 443, "/x")),
        (
            "https://bücher.example/ä?q=é%20",
            WebAddress("https", "xn--bcher-kva.example", 443, "/%C3%A4?q=%C3%A9%20"),
        ),
        ("https://[2606:4700::1]/x", WebAddress("https", "2606:4700::1", 443, "/x")),
        ("https://192.0.2.1/", WebAddress("https", "192.0.2.1", 443, "/")),
        ("https://a_b.shop.example/", WebAddress("https", "a_b.shop.example", 443, "/")),
        ("http://shop.example/", WebAddress("http", "shop.example", 80, "/")),
    ],
)
def test_it_is_taken_apart(text: str, expected: WebAddress) -> None:
    assert split_web_address(text, allow_http=True) == expected
    assert parse_web_address(text, allow_http=True) == text


@pytest.mark.parametrize(
    "text",
    """
    //shop.example /path shop.example https:/shop.example https:///x https://: https://:443 javascript:alert(1)
    data:text/html,x ftp://shop.example file:///etc/passwd gopher://x mailto:a@b.example https://user@shop.example
    https://user:pw@shop.example https://@shop.example https://shop.example:0 https://shop.example:
    https://shop.example:65536 https://shop.example:-1 https://shop.example:8o https://shop..example
    https://.shop.example https://-shop.example https://shop-.example https://shop.example\\@evil.example
    https://0x7f.1 https://2130706433 https://127.1 https://0177.0.0.1 https://1.2.3.4.5 https://256.1.1.1
    https://[::1 https://[1] https://[fe80::1%25eth0] https://[v1.x] https://% https://a%2eb https://sh*p.example
    """.split(),  # noqa: SIM905 - a list of these reads better as text
)
def test_it_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="The URL"):
        parse_web_address(text, allow_http=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " https://shop.example",
        "https://shop.example/a b",
        "https://shop.example/\n",
        "https://shop.example/\x00",
        "https://shop.example/\t",
        "https://shop.example/\u202e",
        "https://shop.example/\u2003",
        "https://shop.example/" + "x" * 2048,
        "https://" + "x" * 64 + ".example",
        "https://" + "x." * 127 + "example",
        "https://\ud800.example",
    ],
)
def test_blanks_controls_and_lengths_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="The URL"):
        parse_web_address(text, allow_http=True)


def test_http_is_taken_only_where_it_is_allowed() -> None:
    with pytest.raises(ValueError, match="https"):
        parse_web_address("http://shop.example/", allow_http=False)


def test_exactly_2048_characters_are_taken() -> None:
    text = "https://shop.example/" + "x" * (2048 - len("https://shop.example/"))
    assert parse_web_address(text, allow_http=False) == text
