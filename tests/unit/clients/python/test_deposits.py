"""With the same values, the offline tool computes the same addresses and sweeps as the service."""

import hashlib
import json
import random
from typing import Any
from uuid import UUID, uuid4

import pytest
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from quittance import deposits
from quittance.cli.main import main
from quittance.keccak import keccak256

from chains.families.base import Sweep
from chains.families.evm.deposits.addresses import FACTORY, deposit_of
from chains.families.evm.deposits.calls import GAS_PER_SWEEP, sweep_call

RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"
TOKEN = "0x700b6A60ce7EaaEA56F065753d8dcB9653dbAD35"
REQUEST = UUID("0197b3c8-5a00-7def-8123-456789abcdef")
DEPOSIT = deposit_of(RECIPIENT, REQUEST)

Capture = pytest.CaptureFixture[str]


def test_keccak_agrees_with_another_implementation() -> None:
    assert keccak256(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
    assert keccak256(b"") != hashlib.sha3_256(b"").digest()
    chance = random.Random(1)
    for length in (1, 55, 134, 135, 136, 137, 271, 272, 273, 700):
        data = chance.randbytes(length)
        assert keccak256(data) == keccak(data)


def test_constants_are_those_of_the_service() -> None:
    assert (deposits.FACTORY, deposits.GAS_PER_SWEEP) == (FACTORY, GAS_PER_SWEEP)


@pytest.mark.parametrize("request_id", [REQUEST, str(REQUEST), str(REQUEST).upper()])
def test_address_follows_from_request_and_recipient(request_id: str | UUID) -> None:
    found = deposits.find(request_id, RECIPIENT)
    assert found.recipient == RECIPIENT
    for name in ("address", "factory", "salt", "init_code", "init_code_hash"):
        assert getattr(found, name) == getattr(DEPOSIT, name)
    assert deposits.from_salt(DEPOSIT.salt, RECIPIENT.lower()) == found


def test_random_requests_have_the_services_addresses() -> None:
    chance = random.Random(2)
    for _ in range(10):
        recipient, request_id = to_checksum_address(chance.randbytes(20)), uuid4()
        assert deposits.find(request_id, recipient).address == deposit_of(recipient, request_id).address


def test_address_follows_from_the_values_of_the_api() -> None:
    for values in (
        {"init_code": DEPOSIT.init_code},
        {"init_code_hash": DEPOSIT.init_code_hash},
        {"init_code": DEPOSIT.init_code, "init_code_hash": DEPOSIT.init_code_hash},
    ):
        assert deposits.compute_address(DEPOSIT.factory, DEPOSIT.salt, **values) == DEPOSIT.address
    assert deposits.recipient_of(DEPOSIT.init_code) == RECIPIENT


def test_init_code_and_hash_that_differ_are_rejected() -> None:
    other = deposit_of(TOKEN, REQUEST)
    with pytest.raises(ValueError, match="not the hash of init_code"):
        deposits.compute_address(
            DEPOSIT.factory, DEPOSIT.salt, init_code=DEPOSIT.init_code, init_code_hash=other.init_code_hash
        )
    with pytest.raises(ValueError, match="Pass init_code or"):
        deposits.compute_address(DEPOSIT.factory, DEPOSIT.salt)


def test_code_of_another_contract_has_no_recipient() -> None:
    code = bytes.fromhex(DEPOSIT.init_code[2:])
    changed = bytes([*code[:100], code[100] ^ 1, *code[101:]])
    dirty = code[:-32] + b"\1" + code[-31:]
    for other in (b"", code[:-1], code + b"\0", changed, dirty):
        with pytest.raises(ValueError, match="not the init code of a forwarder"):
            deposits.recipient_of("0x" + other.hex())


def test_sweep_is_that_of_the_service() -> None:
    found = deposits.find(REQUEST, RECIPIENT)
    built = deposits.build_sweep([(found, TOKEN), (found, "")])
    call = sweep_call([Sweep(RECIPIENT, DEPOSIT.salt, TOKEN), Sweep(RECIPIENT, DEPOSIT.salt, "")])
    assert built == {"to": call.to, "data": "0x" + call.data.hex(), "value": "0x0"}


@pytest.mark.parametrize(
    ("request_id", "recipient", "message"),
    [
        ("order-1", RECIPIENT, "not the ID of a payment request"),
        (str(REQUEST), "0x1234", "not an address"),
        (str(REQUEST), RECIPIENT.replace("E8f", "e8f"), "wrong checksum"),
        (str(REQUEST), "0x" + "00" * 20, "zero address"),
    ],
)
def test_invalid_values_are_rejected(request_id: str, recipient: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        deposits.find(request_id, recipient)


@pytest.mark.parametrize("salt", ["0x" + "00" * 31, "00" * 32, "0x" + "zz" * 32])
def test_salt_of_another_size_is_rejected(salt: str) -> None:
    with pytest.raises(ValueError, match="salt should"):
        deposits.from_salt(salt, RECIPIENT)


def test_sweep_of_several_factories_is_rejected() -> None:
    one, other = deposits.find(REQUEST, RECIPIENT), deposits.find(REQUEST, RECIPIENT, factory=TOKEN)
    for sweeps in ([], [(one, ""), (other, "")]):
        with pytest.raises(ValueError, match="one factory"):
            deposits.build_sweep(sweeps)


def shown(capsys: Capture, *arguments: str) -> Any:
    assert main(["deposits", *arguments]) == 0
    return capsys.readouterr().out


def test_command_works_without_key_and_service(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.delenv("QUITTANCE_API_KEY", raising=False)
    monkeypatch.delenv("QUITTANCE_BASE_URL", raising=False)
    request = ["--payment-request", str(REQUEST), "--recipient", RECIPIENT]
    assert shown(capsys, "address", *request) == f"{DEPOSIT.address}\n"
    assert (
        json.loads(shown(capsys, "address", *request, "--json"))["init_code_hash"] == DEPOSIT.init_code_hash
    )
    by_salt = ["--salt", DEPOSIT.salt]
    assert DEPOSIT.address in shown(capsys, "address", *by_salt, "--init-code-hash", DEPOSIT.init_code_hash)
    assert RECIPIENT in shown(capsys, "address", *by_salt, "--init-code", DEPOSIT.init_code)
    [transaction] = json.loads(shown(capsys, "sweep", *request, "--token", TOKEN, "--token", "native"))
    deposit = deposits.find(REQUEST, RECIPIENT)
    assert transaction == deposits.build_sweep([(deposit, TOKEN), (deposit, "")])


@pytest.mark.parametrize(
    "arguments",
    [
        ["address", "--payment-request", str(REQUEST)],
        ["address", "--payment-request", str(REQUEST), "--init-code", DEPOSIT.init_code],
        ["address", "--salt", DEPOSIT.salt, "--recipient", RECIPIENT, "--init-code", DEPOSIT.init_code],
        ["sweep", "--payment-request", str(REQUEST), "--recipient", RECIPIENT],
        ["sweep", "--payment-request", str(REQUEST), "--token", "native"],
    ],
)
def test_command_with_missing_values_prints_no_result(arguments: list[str], capsys: Capture) -> None:
    assert main(["deposits", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Pass --" in printed.err or "pass --" in printed.err
