"""A malformed provider.toml stops the start, like a wrong setting. The message names the file and the error."""

from functools import partial
from pathlib import Path

import pytest

from config.environment import load_or_exit, start
from config.environment.providers import provider_faults, providers

SOUND = """
name = "Acme Bridge"
api_url = "https://api.acme.example"

[quote_limit]
without_key = "5/minute"
with_key = "9/minute"

[[settings]]
name = "TIER"
default = "basic"
pattern = "basic|gold"
should_be = "basic or gold"
"""
MALFORMED = {
    "no TOML": ("name =", "is not TOML"),
    "nothing": ("", '"api_url"|api_url is missing'),
    "no name": (SOUND.replace('name = "Acme Bridge"\n', ""), "name is missing"),
    "a number as name": (SOUND.replace('"Acme Bridge"', "7"), "name is missing, or not a text"),
    "a name of two lines": (SOUND.replace("Acme Bridge", "Acme\\nBridge"), "name contains a line break"),
    "no URL": (SOUND.replace("https://api.acme.example", "acme"), "api_url "),
    "a URL with a key": (SOUND.replace("acme.example", "acme.example/?key=1"), "api_url "),
    "an unknown entry": (SOUND.replace("api_url", "url"), '"url" is an unknown entry'),
    "no quotas": (SOUND.partition("[quote_limit]")[0], "quote_limit is missing"),
    "a quota that is no rate": (SOUND.replace("5/minute", "many"), "without_key is not a rate"),
    "no quota": (SOUND.replace("5/minute", "off"), "without_key is not a rate"),
    "a quota too many": (SOUND.replace("with_key", "on_sundays"), '"on_sundays" is an unknown entry'),
    "settings that are no list": (
        SOUND.partition("[[settings]]")[0] + '[settings]\nname = "TIER"\n',
        "settings is not a list of tables",
    ),
    "a setting in lower case": (SOUND.replace("TIER", "tier"), "name has the wrong form"),
    "a setting of every provider": (SOUND.replace("TIER", "API_KEY"), "ACME_API_KEY is declared twice"),
    "no pattern": (SOUND.replace('"basic|gold"', '"("'), "pattern is not a regular expression"),
    "another default": (SOUND.replace('"basic"\n', '"silver"\n'), "default is missing or doesn't match"),
    "no explanation": (SOUND.replace('should_be = "basic or gold"', ""), "should_be is missing"),
}


def folder_with(tmp_path: Path, content: bytes, key: str = "acme") -> Path:
    (tmp_path / key).mkdir()
    (tmp_path / key / "provider.toml").write_bytes(content)
    return tmp_path


def test_a_sound_file_has_no_fault(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, SOUND.encode())
    assert [each.key for each in providers(folder)] == ["acme"]
    assert not provider_faults(folder)


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_file_is_one_fault_and_no_provider(tmp_path: Path, case: str) -> None:
    content, problem = MALFORMED[case]
    folder = folder_with(tmp_path, content.encode())
    assert not providers(folder)
    (fault,) = provider_faults(folder)
    assert fault.name == "acme/provider.toml"
    assert any(each in str(fault) for each in problem.split("|"))
    assert "\n" not in str(fault)


def test_a_file_that_is_not_text_and_a_folder_with_another_name(tmp_path: Path) -> None:
    folder_with(tmp_path, b"\xff\xfe")
    folder_with(tmp_path, SOUND.encode(), "Acme-2")
    first, second = (str(fault) for fault in provider_faults(tmp_path))
    assert "in a folder whose name is not lower-case" in first
    assert "can't be read (UnicodeDecodeError)" in second


def test_those_that_ship_have_no_fault() -> None:
    assert not provider_faults()


def test_the_start_ends_with_one_line_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path, b"name =")
    monkeypatch.setattr(start, "provider_faults", partial(provider_faults, folder))
    with pytest.raises(SystemExit) as stopped:
        load_or_exit()
    assert stopped.value.code == start.EXIT_CODE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("acme/provider.toml: is not TOML")
    assert line.endswith("it should be a file in the format of docs/adding-a-provider.md")
