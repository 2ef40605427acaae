"""The TypeScript client's test values are equal to the service's own addresses and calls."""

import json
from uuid import UUID

from eth_utils.crypto import keccak

from chains.families.base import Sweep
from chains.families.evm.deposits.addresses import FACTORY, create2_address, deposit_of
from chains.families.evm.deposits.calls import sweep_call
from tests.processes import REPOSITORY

VECTORS = json.loads((REPOSITORY / "clients/typescript/test/deposits.json").read_text())


def test_deposits_are_those_of_the_service() -> None:
    assert len(VECTORS["deposits"]) > 2
    for row in VECTORS["deposits"]:
        deposit = deposit_of(row["recipient"], UUID(row["payment_request"]))
        assert deposit.address == row["address"]
        assert {name: getattr(deposit, name) for name in row["deposit"]} == row["deposit"]
        assert row["deposit"].keys() == {"factory", "salt", "init_code", "init_code_hash"}


def test_hashes_of_all_sizes_are_those_of_the_service() -> None:
    salt = bytes.fromhex(VECTORS["deposits"][0]["deposit"]["salt"][2:])
    for row in VECTORS["sizes"]:
        assert create2_address(FACTORY, salt, keccak(b"a" * row["size"])) == row["address"]


def test_sweep_is_that_of_the_service() -> None:
    first, example = VECTORS["deposits"][0], VECTORS["sweep"]
    rows = [Sweep(first["recipient"], first["deposit"]["salt"], token) for token in (example["token"], "")]
    call = sweep_call(rows)
    assert example["transaction"] == {"to": call.to, "data": "0x" + call.data.hex(), "value": "0x0"}
