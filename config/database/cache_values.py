"""Store cache values in Redis as MessagePack. Django's own serializer uses pickle, which can execute code."""

import msgspec

Value = bool | float | bytes


class CacheSerializer:
    """Serialize integers as text, as Django does. Serialize other plain values as MessagePack."""

    def __init__(self) -> None:
        # With this type, the decoder rejects lists and maps.
        self._decoder = msgspec.msgpack.Decoder(Value)

    def dumps(self, value: int | Value) -> int | bytes:
        """Return the bytes to store.

        A value of another type becomes an empty text, which `loads` treats as a missing entry.

        For example, the portal's search (django-unfold) caches objects. The search also works without that cache.
        """
        if type(value) is int:
            return value
        if not isinstance(value, Value):
            return b""
        return msgspec.msgpack.encode(value)

    def loads(self, data: bytes) -> int | Value | None:
        """Return the value. For other data return None, a missing entry."""
        try:
            return int(data)
        except ValueError:
            pass
        try:
            value: Value = self._decoder.decode(data)
        except msgspec.DecodeError:
            return None
        return value
