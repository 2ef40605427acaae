"""A deposit address depends only on the request and the recipient."""

from uuid import UUID

import pytest
from eth_utils.crypto import keccak

from chains.families import families
from chains.families.evm.deposits.addresses import DEPLOYER, FACTORY, create2_address, deposit_of, init_code

RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"
REQUEST = UUID("0197b3c8-5a00-7def-8123-456789abcdef")


# Source: the examples of EIP-1014.
@pytest.mark.parametrize(
    ("deployer", "salt", "code", "address"),
    [
        ("00" * 20, "00" * 32, "00", "0x4D1A2e2bB4F88F0250f26Ffff098B0b30B26BF38"),
        ("deadbeef" + "00" * 16, "00" * 32, "00", "0xB928f69Bb1D91Cd65274e3c79d8986362984fDA3"),
        (
            "deadbeef" + "00" * 16,
            "00" * 12 + "feed" + "00" * 18,
            "00",
            "0xD04116cDd17beBE565EB2422F2497E06cC1C9833",
        ),
        ("00" * 20, "00" * 32, "deadbeef", "0x70f2b2914A2a4b783FaEFb75f459A580616Fcb5e"),
        (
            "00000000000000000000000000000000deadbeef",
            "00" * 28 + "cafebabe",
            "deadbeef",
            "0x60f3f640a8508fC6a86d45DF051962668E1e8AC7",
        ),
        (
            "00000000000000000000000000000000deadbeef",
            "00" * 28 + "cafebabe",
            "deadbeef" * 11,
            "0x1d8bfDC5D46DC4f61D6b6115972536eBE6A8854C",
        ),
        ("00" * 20, "00" * 32, "", "0xE33C0C7F7df4809055C3ebA6c09CFe4BaF1BD9e0"),
    ],
)
def test_create2_address_matches_eip_1014(deployer: str, salt: str, code: str, address: str) -> None:
    code_hash = keccak(bytes.fromhex(code))
    assert create2_address("0x" + deployer, bytes.fromhex(salt), code_hash) == address


def test_deposit_names_all_that_its_address_follows_from() -> None:
    deposit = deposit_of(RECIPIENT, REQUEST)
    code, salt = bytes.fromhex(deposit.init_code[2:]), bytes.fromhex(deposit.salt[2:])
    assert salt == keccak(REQUEST.bytes)
    assert code == init_code(RECIPIENT)
    assert code[-20:].hex() == RECIPIENT[2:].lower()
    assert deposit.init_code_hash == "0x" + keccak(code).hex()
    assert deposit.address == create2_address(deposit.factory, salt, keccak(code))


def test_shipped_addresses_never_change() -> None:
    """Customers may still send money to addresses that were shown.

    A new factory needs a new field, not a new constant.
    """
    assert FACTORY == "0xc29d159942722399849F7575503fBd827902b879"
    assert deposit_of(RECIPIENT, REQUEST).address == "0x9e6fE43dC6f7daa1349809Eb0b6f6BA4bAa330D8"


def test_only_evm_chains_have_deposit_addresses() -> None:
    assert [family.key for family in families().values() if family.deposits] == ["evm"]
    deposits = families()["evm"].deposits
    assert deposits is not None
    assert (deposits.factory, deposits.deployer) == (FACTORY, DEPLOYER)
