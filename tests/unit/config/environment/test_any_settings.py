"""For any value of a setting, the result is a parsed value or a list of errors.

It is never another exception or a secret.
"""

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from config.environment import SettingsError
from config.environment.checking import check
from config.environment.declared import declared
from config.environment.wrong import Fault
from tests.support.settings import NODES, RIGHT

MARK = "Zx9q"
# Valid values, and fragments with a meaning in some parser.
_BASES = st.sampled_from(
    [
        "postgresql://user:password@db.example:5432/shop?sslmode=require&host=/run",
        "redis://:password@127.0.0.1:6379/0",
        "rediss://redis.example/1?ssl_cert_reqs=none",
        "smtp+tls://user:password@mail.example:587?EMAIL_USE_TLS=yes",
        "filemail:////tmp/mails",
        "https://key@sentry.example/1",
        "https://pay.example.com:8443/v1",
        "wss://[::1]:5555/v1",
        "10.0.0.0/8,::1",
        "120/minute",
        "Shop <shop@example.com>",
        "production",
        "",
    ]
)
_PIECES = st.sampled_from(
    [
        *(
            "postgresql",
            "smtp",
            "https",
            "://",
            "//",
            "/",
            "user",
            ":",
            "@",
            "[",
            "]",
            "::1",
            "127.0.0.1",
            "%",
            "%2F",
        ),
        *(
            "?",
            "&",
            "=",
            "#",
            "sslmode",
            "CONN_MAX_AGE",
            "EMAIL_USE_SSL",
            ",",
            ";",
            " ",
            "\n",
            "\0",
            "\udcff",
            "é",
            "²",
        ),
        *(
            "-1",
            "0",
            "1",
            "9" * 30,
            "off",
            "True",
            "*",
            ".",
            "$",
            "\\",
            '"',
            "<",
            ">",
            "\u202e",
            "\u2028",
            "\x85",
        ),
    ]
)


@st.composite
def _changed(draw: st.DrawFn) -> str:
    """Draw a valid value and insert or remove fragments at any places."""
    text = draw(_BASES)
    for _ in range(draw(st.integers(0, 4))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 3)))
        text = text[:begin] + draw(_PIECES) + text[end:]
    return text


_TEXTS = st.one_of(_changed(), st.text(max_size=80))
_NAMES = st.sampled_from([*declared(), *NODES])


@settings(max_examples=int(os.environ.get("SEQUENCES", "1000")))
@given(values=st.dictionaries(_NAMES, _TEXTS, min_size=1, max_size=4), place=st.integers(0, 80))
def test_any_text_is_a_value_or_a_fault(values: dict[str, str], place: int) -> None:
    marked = {name: text[:place] + MARK + text[place:] for name, text in values.items()}
    for texts in (values, marked):
        for fault in _faults({**RIGHT, **texts}):
            line = str(fault)
            assert line.isascii()
            assert line.isprintable()
            setting = declared().get(fault.name)
            assert MARK not in line or (setting is not None and not setting.is_secret)


def _faults(texts: dict[str, str]) -> tuple[Fault, ...]:
    try:
        check(texts, nodes=NODES)
    except SettingsError as error:
        return error.faults
    return ()
