"""LI.FI quotes are requested by output amount. A quote is completely valid or rejected."""

import base64
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from chains.client import EvmCall, SolanaTransaction
from payments.providers.base import Fee, Offer, Order, ProviderDown, Side, Tool, Wanted
from tests.support.routing.lifi_world import (
    ARBITRUM,
    BASE,
    ID,
    KEY,
    MERCHANT,
    NATIVE,
    PAYER,
    PAYER_ON_SOLANA,
    ROUTER,
    SOLANA,
    TRACKING,
    USDC,
    USDT,
    WANTED,
    answering,
    changed,
    quote,
    token,
)

HUGE = 2**256


def offered(answer: Any, wanted: Wanted = WANTED) -> Offer:
    with answering(answer) as lifi:
        return lifi.provider.quote(wanted)


def test_query_names_output_recipient_and_integrator() -> None:
    with answering(quote()) as lifi:
        lifi.provider.quote(replace(WANTED, order=Order.FASTEST, slippage=Decimal("0.0000001")))
    (asked,) = lifi.asked
    assert asked.path == "/v1/quote/toAmount"
    assert asked.query == {
        "fromChain": "42161",
        "fromToken": USDT,
        "fromAddress": PAYER,
        "toChain": "8453",
        "toToken": USDC,
        "toAddress": MERCHANT,
        "toAmount": "12500000",
        "order": "FASTEST",
        "slippage": "0.0000001",
        "integrator": "quittance",
    }
    assert asked.headers["x-lifi-api-key"] == KEY
    assert KEY not in asked.target


def test_native_coins_are_queried_by_their_chains_name() -> None:
    wanted = Wanted(Side(SOLANA, "", PAYER_ON_SOLANA), Side(BASE, "", MERCHANT), 1)
    with answering(quote()) as lifi:
        lifi.provider.quote(wanted)
    (asked,) = lifi.asked
    assert asked.query["fromToken"] == "11111111111111111111111111111111"
    assert asked.query["toToken"] == NATIVE


def test_an_honest_quote_is_read_whole() -> None:
    offer = offered(quote())
    assert offer == Offer(
        provider="lifi",
        quote_id="0f9b9d4e-6f0f-4a07-93d6-0b0f1c1d2e3f:0",
        bound_by=bytes.fromhex(ID[2:]),
        source=Side(ARBITRUM, USDT, PAYER),
        target=Side(BASE, USDC, MERCHANT),
        amount_in=12_600_000,
        amount_out=12_563_000,
        amount_out_min=12_500_000,
        action=EvmCall(
            to=ROUTER,
            data=bytes.fromhex("4666fc80" + ID[2:] + "00" * 64),
            value=0x1106A9CE2116,
            gas=0x0823D8,
        ),
        action_chain_id=ARBITRUM,
        spender=ROUTER,
        must_reset_approval=True,
        duration_seconds=45,
        fees=(
            Fee("LIFI Fixed Fee", "USDT", 6, ARBITRUM, USDT, 31_500, Decimal("0.0315"), included=True),
            Fee(
                "LayerZero native fee",
                "ETH",
                18,
                ARBITRUM,
                "",
                18_720_328_069_846,
                Decimal("0.0612"),
                included=False,
            ),
        ),
        gas=(Fee("SEND", "ETH", 18, ARBITRUM, "", 5_330_000_000_000, Decimal("0.0181"), included=False),),
        usd_in=Decimal("12.6050"),
        usd_out=Decimal("12.5635"),
        tools=(Tool("sushiswap", "Sushi"), Tool("stargateV2", "Stargate")),
        tracking=TRACKING,
    )


def test_offer_is_read_from_the_response_not_the_query() -> None:
    stranger = "0x000000000000000000000000000000000000dEaD"
    answer = changed(quote(), "action.toAddress", stranger)
    answer = changed(answer, "estimate.toAmountMin", "1")
    offer = offered(answer)
    assert offer.target.account == stranger
    assert offer.amount_out_min == 1


@pytest.mark.parametrize("spelled", [NATIVE, "0x" + "e" * 40, "0x" + "E" * 40])
def test_both_evm_native_coin_addresses_are_the_native_coin(spelled: str) -> None:
    offer = offered(changed(quote(), "action.fromToken", token(ARBITRUM, spelled, "ETH", 18)))
    assert offer.source.token == ""
    assert offer.spender is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("estimate.approvalAddress", None),
        ("estimate.approvalAddress", ...),
        ("estimate.approvalAddress", ""),
        ("estimate.approvalAddress", NATIVE),
        ("estimate.skipApproval", True),
    ],
)
def test_no_approval_if_none_is_needed(path: str, value: Any) -> None:
    assert offered(changed(quote(), path, value)).spender is None


def test_what_may_be_left_out_may_be_left_out() -> None:
    answer = quote()
    for path in (
        "estimate.fromAmountUSD",
        "estimate.toAmountUSD",
        "estimate.feeCosts",
        "estimate.gasCosts",
        "estimate.executionDuration",
        "estimate.approvalReset",
        "includedSteps",
        "transactionRequest.from",
        "transactionRequest.value",
        "transactionRequest.gasLimit",
    ):
        answer = changed(answer, path, ...)
    offer = offered(answer)
    assert (offer.fees, offer.gas, offer.duration_seconds, offer.usd_in) == ((), (), None, None)
    assert offer.tools == (Tool("stargateV2", "Stargate"),)
    assert isinstance(offer.action, EvmCall)
    assert (offer.action.value, offer.action.gas) == (0, None)


def test_only_an_included_fee_may_have_no_amount() -> None:
    offer = offered(changed(quote(), "estimate.feeCosts.0.amount", ...))
    assert [fee.name for fee in offer.fees] == ["LayerZero native fee"]
    with pytest.raises(ProviderDown):
        offered(changed(quote(), "estimate.feeCosts.1.amount", ...))


def test_gas_sum_replaces_its_parts() -> None:
    answer = quote()
    (send,) = answer["estimate"]["gasCosts"]
    parts = [{**send, "type": "APPROVE"}, send, {**send, "type": "SUM", "amount": "9"}]
    assert [gas.amount for gas in offered(changed(answer, "estimate.gasCosts", parts)).gas] == [9]


def test_tool_names_are_safe_for_a_page() -> None:
    answer = changed(quote(), "includedSteps.1.toolDetails.name", "Su\u202eshi\x00\n" + "a" * 500)
    answer = changed(answer, "estimate.feeCosts.0.name", "\u200b\u2066")
    offer = offered(answer)
    assert offer.tools[0].name.startswith("Sushi a")
    assert len(offer.tools[0].name) <= 60
    assert offer.fees[0].name == "Fee"


def test_a_payment_from_solana_is_a_serialised_transaction() -> None:
    answer = changed(quote(), "action.fromChainId", SOLANA)
    answer = changed(answer, "action.fromAddress", PAYER_ON_SOLANA)
    answer = changed(answer, "action.fromToken", token(SOLANA, "1" * 32, "SOL", 9))
    answer = changed(answer, "transactionRequest", {"data": base64.b64encode(b"\x01" * 700).decode()})
    offer = offered(answer)
    assert offer.action == SolanaTransaction(b"\x01" * 700)
    assert offer.action_chain_id == SOLANA
    assert offer.source == Side(SOLANA, "", PAYER_ON_SOLANA)
    assert offer.spender is None
    bundle = [base64.b64encode(b"\x01" * 700).decode()] * 2
    for data in (bundle, "", "not base64", base64.b64encode(b"\x01" * 1300).decode(), None, 5):
        with pytest.raises(ProviderDown, match="Solana transaction"):
            offered(changed(answer, "transactionRequest.data", data))


@pytest.mark.parametrize(
    "path",
    [
        "id",
        "tool",
        "action",
        "estimate",
        "transactionId",
        "transactionRequest",
        "action.fromChainId",
        "action.toChainId",
        "action.fromToken",
        "action.toToken",
        "action.fromAmount",
        "action.fromAddress",
        "action.toAddress",
        "action.toToken.address",
        "action.fromToken.chainId",
        "estimate.fromAmount",
        "estimate.toAmount",
        "estimate.toAmountMin",
        "transactionRequest.to",
        "transactionRequest.data",
        "transactionRequest.chainId",
        "estimate.feeCosts.0.included",
        "estimate.feeCosts.0.token",
    ],
)
def test_quote_without_a_required_field_is_invalid(path: str) -> None:
    for missing in (..., None, [], {}, 1.5, True, "", " ", "\x00"):
        if path == "estimate.feeCosts.0.included" and missing is True:
            continue
        with pytest.raises(ProviderDown):
            offered(changed(quote(), path, missing))


AMOUNTS: list[Any] = [
    -1,
    "-1",
    "+1",
    "1.0",
    "1e6",
    " 1",
    "0x10",
    "١",
    12600000.0,
    HUGE,
    str(HUGE),
    "9" * 5000,
    "NaN",
    ["1"],
]


@pytest.mark.parametrize("value", AMOUNTS)
def test_an_amount_is_a_whole_number_of_base_units(value: Any) -> None:
    for path in ("action.fromAmount", "estimate.toAmount", "estimate.toAmountMin"):
        with pytest.raises(ProviderDown):
            offered(changed(quote(), path, value))


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("transactionId", ["0x" + "7d" * 31, "0x" + "7d" * 33, "7d" * 32, "0x" + "zz" * 32]),
        ("action.fromChainId", ["42161", 42161.0, -1, 2**63, 0.5]),
        ("transactionRequest.chainId", ["0xa4b1", 42161.5, -1]),
        ("transactionRequest.value", [-1, "-0x1", "0x", "1.5", hex(HUGE), "0x" + "0" * 200, 1.0]),
        ("transactionRequest.gasLimit", ["much", -5, 1.5]),
        ("transactionRequest.data", ["0x123", "4666", "0x" + "00" * 70_000, "0xzz"]),
        ("transactionRequest.to", ["0x1231", PAYER_ON_SOLANA + "1", NATIVE, ROUTER[:-1] + "e"]),
        ("action.toAddress", [MERCHANT[:-1], "0X" + MERCHANT[2:], "merchant.eth", NATIVE]),
        ("action.toToken.address", ["USDC", USDC[:-1], USDC + "00"]),
        ("estimate.executionDuration", [-1, "44", True]),
        ("estimate.approvalReset", ["true", 1]),
        ("estimate.skipApproval", ["yes", 0]),
        ("estimate.fromAmountUSD", ["-1", "NaN", "Infinity", "1e400", "1,5", True, "9" * 60]),
        ("estimate.feeCosts", [{}, "none", [1], [None], [{}] * 51]),
        ("estimate.feeCosts.1.amount", AMOUNTS),
        ("estimate.feeCosts.1.token.decimals", [-1, 37, "18", 18.0, True, None]),
        ("estimate.feeCosts.1.included", ["false", 0, None]),
        ("estimate.gasCosts", [{"amount": "1"}, [[]]]),
        ("includedSteps", ["sushiswap", [1], {}]),
        ("includedSteps.1.tool", ["", "su\nshi", 5, "a" * 200]),
        ("tool", ["star gate\n", "../status", "a" * 65, {}]),
        ("id", ["\u202e", "a" * 201, 7]),
    ],
)
def test_quote_with_a_wrong_type_or_range_is_invalid(path: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ProviderDown):
            offered(changed(quote(), path, value))


@pytest.mark.parametrize("answer", [None, [], "quote", 5, True, {}, [quote()]])
def test_response_that_is_no_quote_is_invalid(answer: Any) -> None:
    with pytest.raises(ProviderDown):
        offered((200, answer))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("estimate.fromAmount", "12600001"),
        ("action.fromToken.chainId", BASE),
        ("action.toToken.chainId", ARBITRUM),
        ("transactionRequest.from", MERCHANT),
    ],
)
def test_quote_that_contradicts_itself_is_invalid(path: str, value: Any) -> None:
    with pytest.raises(ProviderDown, match="contradicts itself"):
        offered(changed(quote(), path, value))


def test_an_endless_duration_is_cut_down() -> None:
    # Python writes this as a float, and it is read as the number 1e+300.
    offer = offered(changed(quote(), "estimate.executionDuration", 1e300))
    assert offer.duration_seconds == 30 * 24 * 3600
