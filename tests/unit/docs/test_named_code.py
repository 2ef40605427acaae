"""Code names between backticks in pages, docstrings and comments exist."""

import importlib
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.support.docs.pages import REPOSITORY
from tests.wording import tracked_files

FILES = tracked_files()
FOLDERS = {file.partition("/")[0] for file in FILES if "/" in file}
FILE_NAMES = {file.rpartition("/")[2] for file in FILES}
PACKAGES = r"(?:bench|chains|checkout|config|demo|merchants|payments|tests|webhooks|website)"
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"`([^`\n]+)`")
# Names of PostgreSQL, of a merchant's server, and of Solana, web3 and Python.
OTHERS = {
    "archive_timeout",
    "handled_at",
    "raw_post",
    "receive.py",
    "skip_forgery_protection",
    "target_session_attrs",
} | {*("calculate_epoch_fee", "ens_name_to_address", "is_global", "object_hook")}


def is_checked(file: str) -> bool:
    """Whether the file describes the current code. A changelog doesn't, and a test describes its own case."""
    is_page = file.endswith(".md") and not file.startswith(("docs/releases/", "tests/", "CHANGELOG"))
    return is_page or (file.endswith(".py") and not file.startswith("tests/") and "/migrations/" not in file)


def named(pattern: str) -> Iterator[tuple[str, str]]:
    """Yield (file, text) for each text between backticks that matches the pattern."""
    for file in filter(is_checked, FILES):
        for match in _NAMED.finditer(_FENCED.sub("", (REPOSITORY / file).read_text())):
            if re.fullmatch(pattern, match[1]):
                yield file, match[1]


@cache
def resolves(name: str) -> bool:
    module, attributes = name, []
    while module:
        try:
            found = importlib.import_module(module)
        except ImportError:
            module, _, attribute = module.rpartition(".")
            attributes.insert(0, attribute)
            continue
        for attribute in attributes:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


def test_named_paths_exist() -> None:
    paths = [(file, path) for file, path in named(r"[\w./-]+/[\w./-]*") if path.split("/")[0] in FOLDERS]
    assert len(paths) > 100
    missing = [
        (file, path) for file, path in paths if "NAME" not in path and not (REPOSITORY / path).exists()
    ]
    assert missing == []


def test_named_files_exist() -> None:
    files = named(r"\w+\.(?:py|ts)")
    assert [(file, name) for file, name in files if name not in FILE_NAMES | OTHERS] == []


@pytest.mark.django_db
def test_dotted_names_resolve() -> None:
    names = list(named(rf"{PACKAGES}(?:\.\w+){{2,}}"))
    assert len(names) > 50
    assert [(file, name) for file, name in names if not resolves(name)] == []


def test_single_names_are_used_by_code() -> None:
    words = set[str]()
    for file in FILES:
        words.update(re.findall(r"\w+", file))
        if file.endswith((".py", ".ts", ".yml", ".toml", ".html", ".json")):
            words.update(re.findall(r"\w+", _NAMED.sub("", (REPOSITORY / file).read_text())))
    names = list(named(r"[a-z]+(?:_[a-z0-9]+)+(?:\(\))?"))
    assert len(names) > 500
    assert [(file, name) for file, name in names if name.strip("()") not in words | OTHERS] == []
