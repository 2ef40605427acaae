"""Values in Redis are plain data. A pickle that an attacker stores there is never loaded."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from config.health import beat_heart, heartbeat_age


class Planted:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._path,)


def plant(key: str, data: bytes) -> None:
    client: Any = cache
    client._cache.get_client(client.make_key(key)).set(client.make_key(key), data)


@pytest.mark.parametrize("value", [0, -1, 2**256, 1.5, True, False, b"text", b"", b"12", b"\x89PNG\x00"])
def test_plain_values_come_back_with_their_type(value: object) -> None:
    cache.set("value", value, 60)
    stored = cache.get("value")
    assert (type(stored), stored) == (type(value), value)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_planted_pickle_is_a_missing_entry(tmp_path: Path, protocol: int) -> None:
    executed = tmp_path / "executed"
    data = pickle.dumps(Planted(executed), protocol)
    plant("worker-heartbeat", data)
    assert heartbeat_age() is None
    assert not executed.exists()
    pickle.loads(data)
    assert executed.exists(), "the pickle itself works"

    beat_heart()
    assert heartbeat_age() is not None


@pytest.mark.parametrize(
    "data", [b"\x93\x01\x02\x03", b"\x81\xa1a\x01", b"\xc1", b"\xa2\xff\xff", b"\x91" * 10_000]
)
def test_other_data_is_a_missing_entry(data: bytes) -> None:
    plant("value", data)
    assert cache.get("value") is None
    assert cache.get_many(["value"]) == {"value": None}


@pytest.mark.parametrize("value", ["text", [1], {"a": 1}, (1,), Planted(Path("x"))])
def test_values_other_than_plain_ones_are_not_stored(value: Any) -> None:
    cache.set("value", value)
    assert cache.get("value") is None
