"""If `make restore-drill` could not encrypt the dump, it says so."""

import pytest

from tests.integration.operations.drills import restore


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_drill_says_when_the_dump_is_not_encrypted(
    is_encrypted: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = restore.Figures(is_encrypted=is_encrypted)
    monkeypatch.setattr(restore, "drill", lambda folder, each: figures)
    assert restore.main() == 0
    assert ("NOT encrypted" in capsys.readouterr().err) is not is_encrypted
