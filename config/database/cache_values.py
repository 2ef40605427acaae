"""Values of Django's cache in Redis as MessagePack. Django's own serializer unpickles, which executes what it reads."""

import msgspec

Value = bool | float | bytes


class CacheSerializer:
    """Serialize integers as text, as Django does, and other plain values as MessagePack."""

    def __init__(self) -> None:
        # Typed: a value with nested lists or maps is none of ours.
        self._decoder = msgspec.msgpack.Decoder(Value)

    def dumps(self, value: int | Value) -> int | bytes:
        """Return what is stored. A value of another type is stored as nothing, which reads as a missing entry.

        The portal's search (django-unfold) caches its results as objects: it works without that cache.
        """
        if type(value) is int:
            return value
        if not isinstance(value, Value):
            return b""
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
