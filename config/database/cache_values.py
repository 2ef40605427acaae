"""Values of Django's cache in Redis as MessagePack. Django's own serializer unpickles, which executes what it reads."""

import msgspec

Value = bool | float | bytes


class CacheSerializer:
    """Serialize integers as text, as Django does, and other plain values as MessagePack."""

    def __init__(self) -> None:
        # Typed: a value with nested lists or maps is none of ours.
        self._decoder = msgspec.msgpack.Decoder(Value)

    def dumps(self, value: int | Value) -> int | bytes:
        """Return what is stored. Raises TypeError for other types."""
        if type(value) is int:
            return value
        if not isinstance(value, Value):
            raise TypeError(f"the cache holds plain values, not {type(value).__name__}")
        return msgspec.msgpack.encode(value)

    def loads(self, data: bytes) -> int | Value | None:
        """Return the value; None, which callers read as a missing entry, for data that isn't ours."""
        try:
            return int(data)
        except ValueError:
            pass
        try:
            value: Value = self._decoder.decode(data)
        except msgspec.DecodeError:
            return None
        return value
