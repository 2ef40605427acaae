"""Store Django's cache values in Redis as MessagePack. Django's own serializer unpickles, which can execute code."""

import msgspec

Value = bool | float | bytes


class CacheSerializer:
    """Serialize integers as text, as Django does, and other plain values as MessagePack."""

    def __init__(self) -> None:
        # Typed, so that it rejects nested lists and maps.
        self._decoder = msgspec.msgpack.Decoder(Value)

    def dumps(self, value: int | Value) -> int | bytes:
        """Return the bytes to store. Values of other types become empty, which reads as a missing entry.

        The portal's search (django-unfold) caches its results as objects, but works without that cache.
        """
        if type(value) is int:
            return value
        if not isinstance(value, Value):
            return b""
        return msgspec.msgpack.encode(value)

    def loads(self, data: bytes) -> int | Value | None:
        """Return the value, or None (a missing entry) for other data."""
        try:
            return int(data)
        except ValueError:
            pass
        try:
            value: Value = self._decoder.decode(data)
        except msgspec.DecodeError:
            return None
        return value
