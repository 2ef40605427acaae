"""A short run of `tests.integration.chaos.run`: nothing is lost or doubled, whichever process is killed."""

from pathlib import Path

from tests.integration.chaos import failover
from tests.integration.chaos.run import SHORT, run

PAYMENTS = 40
FAILOVER_PAYMENTS = 60


def test_killing_each_process_loses_and_doubles_nothing(tmp_path: Path) -> None:
    result = run(PAYMENTS, SHORT, tmp_path, print)
    assert result.found == []
    assert result.completed_after is not None
    assert result.delivered_after is not None


def test_database_and_redis_failover_loses_and_doubles_nothing(tmp_path: Path) -> None:
    result = run(FAILOVER_PAYMENTS, failover.SHORT, tmp_path, print, failover_seconds=3)
    assert result.found == []
    assert result.completed_after is not None
    assert result.delivered_after is not None
