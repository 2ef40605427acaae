"""The service encodes and decodes calls exactly as web3 does with the declared ABI."""

from typing import Any

import pytest
from eth_abi.exceptions import DecodingError
from hypothesis import given
from hypothesis import strategies as st
from web3.exceptions import Web3Exception

from chains.client import ChainError
from chains.families.evm import abi, tokens
from chains.families.evm.abi import ERC20, TRANSFER_TOPIC, WORD
from chains.families.evm.balances import creation_code
from chains.families.evm.calls import encode_approval, encode_transfer, token_call
from chains.families.evm.quantities import to_hex
from chains.families.evm.transactions.signed_calls import Log
from chains.families.evm.transactions.transfers import token_transfers

TOKEN, OWNER, PAYEE = ("0x" + digit * 40 for digit in "123")
REFERENCE = b"r" * 16
MAX_UINT256 = 2**256 - 1

accounts = st.binary(min_size=20, max_size=20)
amounts = st.integers(0, MAX_UINT256)


def word(value: bytes | int) -> bytes:
    return value.to_bytes(WORD) if isinstance(value, int) else value.rjust(WORD, b"\0")


@given(accounts, amounts)
def test_calls_are_the_selector_and_the_words_of_the_arguments(account: bytes, amount: int) -> None:
    address = to_hex(account)
    _, value, data = encode_transfer(TOKEN, address, amount, REFERENCE)
    assert (value, data) == (0, bytes.fromhex("a9059cbb") + word(account) + word(amount) + REFERENCE)
    assert encode_approval(address, amount) == bytes.fromhex("095ea7b3") + word(account) + word(amount)
    balance = bytes.fromhex("70a08231") + word(account)
    assert creation_code(address, [TOKEN]).endswith(balance + bytes.fromhex(TOKEN[2:]))
    assert asked(tokens.balance_call(TOKEN, address)) == balance
    assert asked(tokens.allowance_call(TOKEN, OWNER, address)) == bytes.fromhex("dd62ed3e") + word(
        bytes.fromhex(OWNER[2:])
    ) + word(account)
    assert [asked(call).hex() for call in tokens.metadata_calls(TOKEN)] == ["95d89b41", "313ce567"]


def asked(call: tuple[str, list[Any]]) -> bytes:
    return bytes.fromhex(call[1][0]["data"][2:])


@pytest.mark.parametrize("amount", [-1, MAX_UINT256 + 1])
def test_an_amount_that_does_not_fit_is_not_encoded(amount: int) -> None:
    with pytest.raises(Web3Exception):
        encode_transfer(TOKEN, PAYEE, amount, None)


# An address argument's word can have bytes before the address, and there can be too few or too many bytes.
words = st.one_of(accounts.map(word), amounts.map(word), st.binary(max_size=70))


@given(
    st.sampled_from([abi.TRANSFER, abi.TRANSFER_FROM, abi.APPROVE, b"none"]),
    st.lists(words, max_size=4).map(b"".join),
)
def test_a_call_of_a_token_is_read_as_web3_reads_it(selector: bytes, arguments: bytes) -> None:
    call = token_call(OWNER, TOKEN, selector + arguments)
    try:
        function, expected = ERC20.decode_function_input(selector + arguments)
    except (Web3Exception, DecodingError):
        assert call is None
        return
    if function.fn_name == "approve":
        assert call is None
        return
    assert call is not None
    assert (call.recipient, call.amount) == (expected["to"], expected["value"])
    assert call.sender == expected.get("from", OWNER)


topics = st.one_of(accounts.map(word), st.binary(min_size=WORD, max_size=WORD), st.binary(max_size=40))
first_topics = st.sampled_from([TRANSFER_TOPIC, abi.APPROVAL_TOPIC, bytes(WORD)])


@given(first_topics, st.lists(topics, max_size=3), st.one_of(amounts.map(word), st.binary(max_size=70)))
def test_log_counted_as_transfer_matches_the_web3_decoding(
    first: bytes, rest: list[bytes], data: bytes
) -> None:
    found = token_transfers([Log(TOKEN, (first, *rest), data)])
    if not found:
        return
    (transfer,) = found.values()
    event = ERC20.events.Transfer().process_log(
        {
            "address": TOKEN,
            "topics": [first, *rest],
            "data": data,
            "blockNumber": 1,
            "blockHash": bytes(WORD),
            "transactionHash": bytes(WORD),
            "transactionIndex": 0,
            "logIndex": 0,
        }
    )
    assert dict(event["args"]) == {
        "from": transfer.sender, "to": transfer.recipient, "value": transfer.amount,
    }  # fmt: skip


@given(accounts, accounts, amounts)
def test_every_log_that_web3_writes_of_a_transfer_counts(sender: bytes, to: bytes, amount: int) -> None:
    found = token_transfers([Log(TOKEN, (TRANSFER_TOPIC, word(sender), word(to)), word(amount))])
    assert [transfer.amount for transfer in found.values()] == [amount]


@pytest.mark.parametrize(
    ("answer", "symbol"),
    [
        (abi.CODEC.encode(["string"], ["USDC"]), "USDC"),
        (b"MKR".ljust(WORD, b"\0"), "MKR"),  # early tokens return bytes32
        (b"", ""),
        (word(32) + word(2) + b"\xff\xfe".ljust(WORD, b"\0"), "\0" * 31 + " "),
    ],
    ids=["a string", "32 bytes", "nothing", "no text"],
)
def test_a_symbol_is_read_of_old_and_of_odd_tokens(answer: bytes, symbol: str) -> None:
    (metadata,) = tokens.metadata([to_hex(answer), to_hex(word(6))])
    assert (metadata.symbol, metadata.decimals) == (symbol, 6)


def test_a_contract_without_decimals_is_no_token() -> None:
    with pytest.raises(ChainError):
        tokens.metadata([to_hex(b""), to_hex(b"")])
