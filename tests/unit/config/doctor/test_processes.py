"""`manage.py doctor` on workers and beat."""

import pytest

from config.celery import app
from config.doctor import processes
from config.doctor.finding import Level


def test_processes_are_not_blamed_for_redis_being_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(app, "connection_for_write", refuse)
    (finding,) = processes.check()
    assert (finding.subject, finding.level) == ("worker and beat", Level.FAILED)
    assert finding.summary == "not checked, because Redis does not respond"
    assert "Repair Redis first" in finding.advice
