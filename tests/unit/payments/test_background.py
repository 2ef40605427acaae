"""Work that waits for nodes runs beside the worker processes, one at a time."""

import threading

import pytest

from payments.background import Background


def test_a_second_run_waits_for_the_first_to_end() -> None:
    released, runs = threading.Event(), []

    def work() -> None:
        runs.append(1)
        released.wait(60)

    background = Background("waiting", work)
    assert background.nudge()
    assert not background.nudge()
    released.set()
    assert background.wait(60)
    assert background.nudge()
    assert background.wait(60)
    assert len(runs) == 2


def test_a_failed_run_is_logged_and_followed_by_the_next(caplog: pytest.LogCaptureFixture) -> None:
    def work() -> None:
        raise KeyError("a mistake of ours")

    background = Background("failing", work)
    assert background.nudge()
    assert background.wait(60)
    assert "failing failed" in caplog.text
    assert background.nudge()
    assert background.wait(60)
