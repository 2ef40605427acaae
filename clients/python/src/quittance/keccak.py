"""Keccak-256, the hash of Ethereum. hashlib doesn't have it: hashlib's SHA3-256 differs in one byte of padding."""

_RATE = 136
_MASK = 2**64 - 1
_ROTATIONS = (
    (0, 36, 3, 41, 18),
    (1, 44, 10, 45, 2),
    (62, 6, 43, 15, 61),
    (28, 55, 25, 21, 56),
    (27, 20, 39, 8, 14),
)


def _round_constants() -> list[int]:
    """Return the constants of the 24 rounds. FIPS 202 defines them by a shift register."""
    constants, register = [], 1
    for _ in range(24):
        constant = 0
        for bit in range(7):
            constant |= (register & 1) << (2**bit - 1)
            register = (register << 1) ^ (0x171 if register & 0x80 else 0)
        constants.append(constant)
    return constants


_CONSTANTS = _round_constants()


def keccak256(data: bytes) -> bytes:
    """Return the Keccak-256 hash of `data`."""
    padded = bytearray(data) + b"\x01" + bytes(-(len(data) + 1) % _RATE)
    padded[-1] |= 0x80
    state = [[0] * 5 for _ in range(5)]
    for start in range(0, len(padded), _RATE):
        for lane in range(_RATE // 8):
            word = padded[start + 8 * lane : start + 8 * lane + 8]
            state[lane % 5][lane // 5] ^= int.from_bytes(word, "little")
        state = _permuted(state)
    return b"".join(state[lane % 5][lane // 5].to_bytes(8, "little") for lane in range(4))


def _permuted(state: list[list[int]]) -> list[list[int]]:
    for constant in _CONSTANTS:
        columns = [row[0] ^ row[1] ^ row[2] ^ row[3] ^ row[4] for row in state]
        mixed = [columns[x - 1] ^ _rotated(columns[(x + 1) % 5], 1) for x in range(5)]
        moved = [[0] * 5 for _ in range(5)]
        for x in range(5):
            for y in range(5):
                moved[y][(2 * x + 3 * y) % 5] = _rotated(state[x][y] ^ mixed[x], _ROTATIONS[x][y])
        state = [
            [moved[x][y] ^ (~moved[(x + 1) % 5][y] & moved[(x + 2) % 5][y]) for y in range(5)]
            for x in range(5)
        ]
        state[0][0] ^= constant
    return state


def _rotated(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (64 - bits))) & _MASK if bits else word
