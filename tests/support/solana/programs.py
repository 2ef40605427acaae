"""Small programs for the local chain, assembled here. Each makes one call that no instruction shows.

They work like drainers that look like honest routers: an opaque call that uses the wallet's signature. Formats:
ELF, and the first version of Solana's bytecode (sBPF v0) with its conventions for programs' input and for calls
between programs.
"""

import base64
import struct
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from tests.support.solana.ledger import LocalLedger

_LOADER = "BPFLoader2111111111111111111111111111111111"
_MOVE, _COPY, _ADD, _LOAD, _STORE, _WIDE, _CALL, _EXIT = 0xB7, 0xBF, 0x07, 0x79, 0x7B, 0x18, 0x85, 0x95
_INPUT, _SCRATCH, _FRAME = 6, 7, 10  # registers: the input's address, a spare one, the end of the stack
_META_BYTES, _INFO_BYTES, _CALL_BYTES = 16, 56, 40
_MAX_DATA = 40
# The offsets of an account's fields in a program's input, and the extra space in which its data can grow.
_KEY, _OWNER, _LAMPORTS, _DATA = 8, 40, 72, 88
_ROOM = 10_240


@dataclass(frozen=True)
class Vault:
    """An account that a program can sign for. The program derives its address from the seeds."""

    address: Pubkey
    seeds: tuple[bytes, ...]


def smuggled(
    ledger: LocalLedger,
    inner: Instruction,
    words: bytes,
    *,
    program: Pubkey | None = None,
    first: Pubkey | None = None,
    vault: Vault | None = None,
) -> Instruction:
    """Return a call with the data `words` to a new program, which makes the call `inner` with the given accounts.

    The accounts of `inner` must exist, and each may occur only once. Its data are 40 bytes at most. `program`
    is the new program's address. `first` is another account, passed before the others. `vault` is the account
    of `inner` that the program signs for.
    """
    keys = [*([first] if first else []), *(meta.pubkey for meta in inner.accounts)]
    options = {"encoding": "base64", "commitment": "confirmed"}
    found = ledger.rpc("getMultipleAccounts", [str(key) for key in keys], options)["value"]
    sizes = [len(base64.b64decode(account["data"][0])) if account else 0 for account in found]
    code = b"".join(_calling(inner, sizes, vault.seeds if vault else ()))
    program = program or Keypair().pubkey()
    _plant(ledger, program, code)
    front = [AccountMeta(first, is_signer=False, is_writable=False)] if first else []
    handed = [
        AccountMeta(
            meta.pubkey, meta.is_signer and not (vault and meta.pubkey == vault.address), meta.is_writable
        )
        for meta in inner.accounts
    ]
    called = AccountMeta(inner.program_id, is_signer=False, is_writable=False)
    return Instruction(program, words, [*front, *handed, called])


def plant_approving(ledger: LocalLedger, program: Pubkey | None = None) -> Pubkey:
    """Deploy a program that does nothing and succeeds; return its address."""
    program = program or Keypair().pubkey()
    done = _op(_MOVE, 0) + _op(_EXIT)
    _plant(ledger, program, done + _op(_CALL, 0, 1, value=-1) + _op(_EXIT))
    return program


def plant_moving(ledger: LocalLedger, lamports: int, held: int) -> tuple[Pubkey, Pubkey]:
    """Deploy a program that moves lamports from its first account to its second without a call.

    Return the program, and its own account with this balance.
    """
    program, account = Keypair().pubkey(), Keypair().pubkey()
    first, second = (place + _LAMPORTS for place in list(_places([0, 0]))[:2])
    code = b"".join(
        _op(_LOAD, 2, 1, place) + _op(_ADD, 2, value=change) + _op(_STORE, 1, 2, place)
        for place, change in ((first, -lamports), (second, lamports))
    )
    done = code + _op(_MOVE, 0) + _op(_EXIT)
    _plant(ledger, program, done + _op(_CALL, 0, 1, value=-1) + _op(_EXIT))
    own = {"lamports": held, "owner": str(program), "executable": False, "data": ""}
    ledger.rpc("surfnet_setAccount", str(account), own)
    return program, account


def _plant(ledger: LocalLedger, program: Pubkey, code: bytes) -> None:
    data = _elf(code, "sol_invoke_signed_c").hex()
    account = {"lamports": 10**9, "owner": _LOADER, "executable": True, "data": data}
    ledger.rpc("surfnet_setAccount", str(program), account)


def _calling(inner: Instruction, sizes: Sequence[int], seeds: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the code that builds the call on the stack and makes it.

    The input has one account of size `sizes` for each of the call's accounts, after those that the call doesn't
    need.
    """
    data, count = bytes(inner.data), len(inner.accounts)
    assert len(data) <= _MAX_DATA
    places, sizes = list(_places(sizes))[len(sizes) - count :], sizes[len(sizes) - count :]
    said = -_MAX_DATA
    metas = said - _META_BYTES * count
    call = metas - _CALL_BYTES
    infos = call - _INFO_BYTES * count
    yield _op(_COPY, _INPUT, 1)
    yield from _bytes(said, data.ljust(_MAX_DATA, b"\0"))
    for number, (meta, place, size) in enumerate(zip(inner.accounts, places, sizes, strict=False)):
        at = metas + _META_BYTES * number
        yield from _point(at, place + _KEY)
        yield from _put(at + 8, meta.is_writable | meta.is_signer << 8)
        at = infos + _INFO_BYTES * number
        for field, of in ((0, _KEY), (8, _LAMPORTS), (24, _DATA), (32, _OWNER)):
            yield from _point(at + field, place + of)
        yield from _put(at + 16, size)
        yield from _put(at + 40, 2**64 - 1)
        yield from _put(at + 48, meta.is_signer | meta.is_writable << 8)
    yield from _point(call, places[count] + _KEY)
    yield from _own(call + 8, metas)
    yield from _put(call + 16, count)
    yield from _own(call + 24, said)
    yield from _put(call + 32, len(data))
    signer = yield from _signing(infos, seeds)
    yield from (_op(_COPY, 1, _FRAME), _op(_ADD, 1, value=call))
    yield from (_op(_COPY, 2, _FRAME), _op(_ADD, 2, value=infos))
    yield _op(_MOVE, 3, value=count)
    yield from (_op(_COPY, 4, _FRAME), _op(_ADD, 4, value=signer), _op(_MOVE, 5, value=1 if seeds else 0))
    yield _op(_CALL, 0, 1, value=-1)
    yield _op(_EXIT)


def _signing(below: int, seeds: Sequence[bytes]) -> Generator[bytes, None, int]:
    """Put one signer's seeds on the stack, below its current end; return the place of their description."""
    at, addresses = below, []
    for seed in seeds:
        padded = seed.ljust(-(-len(seed) // 8) * 8, b"\0")
        at -= len(padded)
        addresses.append(at)
        yield from _bytes(at, padded)
    described = at - 16 * len(seeds)
    for number, (address, seed) in enumerate(zip(addresses, seeds, strict=True)):
        yield from _own(described + 16 * number, address)
        yield from _put(described + 16 * number + 8, len(seed))
    yield from _own(described - 16, described)
    yield from _put(described - 8, len(seeds))
    return described - 16


def _places(sizes: Sequence[int]) -> Iterator[int]:
    """Yield the place of each account in the program's input, and the place after the last one."""
    at = 8
    for size in sizes:
        yield at
        at += _DATA + size + _ROOM + -size % 8 + 8
    yield at


def _op(code: int, target: int = 0, source: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return struct.pack("<BBhi", code, target | source << 4, offset, value)


def _bytes(at: int, data: bytes) -> Iterator[bytes]:
    """Store bytes on the stack, eight at a time."""
    for place in range(0, len(data), 8):
        yield from _put(at + place, int.from_bytes(data[place : place + 8], "little"))


def _put(at: int, value: int) -> Iterator[bytes]:
    """Store a 64-bit number on the stack."""
    low, high = value & 0xFFFFFFFF, value >> 32
    yield struct.pack("<BBhI", _WIDE, _SCRATCH, 0, low) + struct.pack("<BBhI", 0, 0, 0, high)
    yield _op(_STORE, _FRAME, _SCRATCH, at)


def _point(at: int, field: int) -> Iterator[bytes]:
    """Store the address of a field of the input."""
    yield from (
        _op(_COPY, _SCRATCH, _INPUT),
        _op(_ADD, _SCRATCH, value=field),
        _op(_STORE, _FRAME, _SCRATCH, at),
    )


def _own(at: int, field: int) -> Iterator[bytes]:
    """Store the address of another place on the stack."""
    yield from (
        _op(_COPY, _SCRATCH, _FRAME),
        _op(_ADD, _SCRATCH, value=field),
        _op(_STORE, _FRAME, _SCRATCH, at),
    )


def _elf(text: bytes, function: str) -> bytes:
    """Return a shared object with this code. Its only external call is to a function of the runtime."""
    head, segment = 64, 56
    names = b"\0.text\0.dynamic\0.dynsym\0.dynstr\0.rel.dyn\0.shstrtab\0"
    strings = b"\0" + function.encode() + b"\0"
    strings += bytes(-len(strings) % 8)
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 0, 0, 0)
    text_at = head + 3 * segment
    dynamic_at = text_at + len(text)
    symbols_at = dynamic_at + 5 * 16
    strings_at = symbols_at + len(symbols)
    moves_at = strings_at + len(strings)
    names_at = moves_at + 16
    call_at = text_at + len(text) - 16
    moves = struct.pack("<QQ", call_at, 1 << 32 | 10)
    tags = ((6, symbols_at), (17, moves_at), (18, 16), (19, 16), (0, 0))
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in tags)
    sections = [
        bytes(64),
        _section(names, ".text", 1, 6, text_at, len(text)),
        _section(names, ".dynamic", 6, 3, dynamic_at, len(dynamic), link=4, entry=16),
        _section(names, ".dynsym", 11, 2, symbols_at, len(symbols), link=4, info=1, entry=24),
        _section(names, ".dynstr", 3, 2, strings_at, len(strings)),
        _section(names, ".rel.dyn", 9, 2, moves_at, len(moves), link=3, entry=16),
        _section(names, ".shstrtab", 3, 0, names_at, len(names)),
    ]
    sections_at = names_at + len(names) + -len(names) % 8
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = ident + struct.pack(
        "<HHIQQQIHHHHHH", 3, 247, 1, text_at, head, sections_at, 0, head, segment, 3, 64, len(sections), 6
    )
    segments = [
        _segment(1, 5, text_at, len(text)),
        _segment(1, 6, dynamic_at, names_at - dynamic_at),
        _segment(2, 6, dynamic_at, len(dynamic)),
    ]
    body = header + b"".join(segments) + text + dynamic + symbols + strings + moves + names
    return body + bytes(-len(names) % 8) + b"".join(sections)


def _section(
    names: bytes,
    name: str,
    kind: int,
    flags: int,
    at: int,
    size: int,
    *,
    link: int = 0,
    info: int = 0,
    entry: int = 0,
) -> bytes:
    address = at if flags else 0
    return struct.pack(
        "<IIQQQQIIQQ",
        names.index(name.encode() + b"\0"),
        kind,
        flags,
        address,
        at,
        size,
        link,
        info,
        8,
        entry,
    )


def _segment(kind: int, flags: int, at: int, size: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, flags, at, at, at, size, size, 8)
