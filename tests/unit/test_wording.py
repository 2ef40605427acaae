"""The wording check finds the listed words and nothing else."""

import pytest

from tests.wording import ALLOWED, NOT_READ, REPOSITORY, Hit, hits_in, is_read, main


def _found(text: str, path: str = "app/module.py") -> list[tuple[int, str]]:
    return [(hit.line, hit.words) for hit in hits_in(path, text)]


@pytest.mark.parametrize(
    "text",
    [
        "The client is told twice.",
        "told_by = 1",
        "This tells of the payment.",
        "It stands in the log.",
        "It stands for the amount.",
        "Somebody paid.",
        "NOBODY = 0",
        "for whoever asks",
        "to whom it goes",
        "built anew",
        "all alike",
        "its whereabouts",
        "lest it fails",
        "for want of an answer",
        "what no node bears out",
        "leaves it alone",
        "is left alone",
        "what became of it",
        "see spec 3.1",
        "(contract 7)",
        "T-11: replaced",
    ],
)
def test_a_listed_word_is_found(text: str) -> None:
    assert len(_found(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "We understand outstanding amounts.",
        "a stand-in for the node",
        "a stand-alone server",
        "errors stand out",
        "the least amount",
        "one contract at 0x12",
        "OpenAPI 3.1",
        "a canned answer",
        "It leaves the request active. The merchant alone cancels it.",
        "[T-11](docs/threat-model.md#threat-11)",
        "[`test_both_are_told_alike`](../tests/unit/test_both.py)",
    ],
)
def test_other_words_are_not(text: str) -> None:
    assert _found(text) == []


def test_phrase_is_found_across_line_breaks_and_comment_marks() -> None:
    text = "x = 1\n# what no node bears\n# out, for\n# want of it"
    assert {line for line, _ in _found(text)} == {2, 3}


def test_the_name_of_a_file_is_read_too() -> None:
    assert [hit.line for hit in hits_in("app/whereabouts.py", "")] == [0]


def test_a_hit_names_its_place_and_what_to_write() -> None:
    assert str(Hit("a.py", 3, "anew", "again")) == "a.py:3: anew (write: again)"


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("payments/tasks.py", True),
        ("docs/api.md", True),
        ("checkout/messages/en.json", True),
        ("checkout/messages/de.json", False),
        ("tests/unit/test_wording.py", False),
        ("requirements-dev.txt", False),
        ("checkout/frontend/package-lock.json", False),
        ("checkout/static/checkout/checkout.js", False),
    ],
)
def test_check_skips_lock_files_tests_builds_and_translations(path: str, read: bool) -> None:
    assert is_read(path) is read


def test_what_is_allowed_is_still_there() -> None:
    for path, words in ALLOWED:
        assert words in (REPOSITORY / path).read_text().lower(), f"{path} no longer has {words!r}"
    assert all(NOT_READ.values())


def test_the_status_says_whether_there_was_a_hit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["LICENSE"]) == 0
    assert main([".editorconfig"]) == 0
    assert capsys.readouterr().out == ""
