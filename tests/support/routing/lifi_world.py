"""LI.FI for tests: its responses in its own format, and a local server that returns them."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from payments.providers.base import Side, Wanted
from payments.providers.lifi.client import LifiProvider
from tests.loopback import Exchange, Scripted, scripted

KEY = "only-for-these-tests-51c2"
ROUTER = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
PAYER = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
MERCHANT = "0x52908400098527886E0F7030069857D2E4169EE7"
PAYER_ON_SOLANA = "7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU"
ARBITRUM, BASE, SOLANA = 42161, 8453, 1151111081099710
USDT = "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9"
USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
NATIVE = "0x0000000000000000000000000000000000000000"
ID = "0x" + "7d" * 31 + "01"
SOURCE_HASH = "0x" + "5a" * 32
DELIVERY_HASH = "0x" + "de" * 32

WANTED = Wanted(Side(ARBITRUM, USDT, PAYER), Side(BASE, USDC, MERCHANT), 12_500_000)
TRACKING = {
    "transaction_id": ID,
    "from_chain": ARBITRUM,
    "to_chain": BASE,
    "to_address": MERCHANT,
    "tool": "stargateV2",
}

Json = dict[str, Any]


def token(chain_id: int, address: str, symbol: str = "USDC", decimals: int = 6, **more: Any) -> Json:
    return {
        "address": address,
        "chainId": chain_id,
        "symbol": symbol,
        "decimals": decimals,
        "name": symbol,
        "coinKey": symbol,
        "logoURI": f"https://icons.example/{symbol.lower()}.svg",
        "priceUSD": "1.0004",
        **more,
    }


def quote() -> Json:
    """A valid response to WANTED: 12.60 USDT on Arbitrum for at least 12.50 USDC on Base."""
    action = {
        "fromChainId": ARBITRUM,
        "toChainId": BASE,
        "fromToken": token(ARBITRUM, USDT, "USDT"),
        "toToken": token(BASE, USDC),
        "fromAmount": "12600000",
        "slippage": 0.005,
        "fromAddress": PAYER,
        "toAddress": MERCHANT,
    }
    swap = {"id": "one", "type": "swap", "tool": "sushiswap", "toolDetails": named("sushiswap", "Sushi")}
    cross = {
        "id": "two",
        "type": "cross",
        "tool": "stargateV2",
        "toolDetails": named("stargateV2", "Stargate"),
    }
    fee = {"id": "three", "type": "protocol", "tool": "feeCollection", "toolDetails": named("fees", "Fees")}
    return {
        "id": "0f9b9d4e-6f0f-4a07-93d6-0b0f1c1d2e3f:0",
        "type": "lifi",
        "tool": "stargateV2",
        "toolDetails": named("stargateV2", "Stargate"),
        "action": action,
        "estimate": {
            "tool": "stargateV2",
            "fromAmount": "12600000",
            "fromAmountUSD": "12.6050",
            "toAmount": "12563000",
            "toAmountMin": "12500000",
            "toAmountUSD": "12.5635",
            "approvalAddress": ROUTER,
            "approvalReset": True,
            "feeCosts": [
                {
                    "name": "LIFI Fixed Fee",
                    "description": "Fixed fee, taken from the amount",
                    "percentage": "0.0025",
                    "token": token(ARBITRUM, USDT, "USDT"),
                    "amount": "31500",
                    "amountUSD": "0.0315",
                    "included": True,
                },
                {
                    "name": "LayerZero native fee",
                    "description": "Paid on top",
                    "percentage": "0.0145",
                    "token": token(ARBITRUM, NATIVE, "ETH", 18),
                    "amount": "18720328069846",
                    "amountUSD": "0.0612",
                    "included": False,
                },
            ],
            "gasCosts": [
                {
                    "type": "SEND",
                    "price": "10000000",
                    "estimate": "410000",
                    "limit": "533000",
                    "amount": "5330000000000",
                    "amountUSD": "0.0181",
                    "token": token(ARBITRUM, NATIVE, "ETH", 18),
                }
            ],
            "executionDuration": 44.5,
        },
        "includedSteps": [fee, swap, cross],
        "integrator": "quittance",
        "transactionId": ID,
        "transactionRequest": {
            "to": ROUTER.lower(),
            "from": PAYER.lower(),
            "data": "0x4666fc80" + ID[2:] + "00" * 64,
            "value": "0x001106a9ce2116",
            "gasLimit": "0x0823d8",
            "gasPrice": "0x989680",
            "chainId": ARBITRUM,
        },
    }


def named(key: str, name: str) -> Json:
    return {"key": key, "name": name, "logoURI": "https://icons.example/tool.svg"}


def status(state: str = "PENDING", substatus: str | None = "WAIT_DESTINATION_TRANSACTION") -> Json:
    """A status of TRACKING's swap. It has a delivery's fields if there was a delivery."""
    answer: Json = {
        "transactionId": ID,
        "sending": {
            "txHash": SOURCE_HASH,
            "txLink": "https://arbiscan.io/tx/" + SOURCE_HASH,
            "amount": "12600000",
            "token": token(ARBITRUM, USDT, "USDT"),
            "chainId": ARBITRUM,
            "timestamp": 1790000000,
        },
        "receiving": {"chainId": BASE},
        "lifiExplorerLink": "https://scan.li.fi/tx/" + SOURCE_HASH,
        "fromAddress": PAYER.lower(),
        "toAddress": MERCHANT.lower(),
        "tool": "stargateV2",
        "status": state,
        "substatusMessage": "Whatever it says here is for people.",
        "metadata": {"integrator": "quittance"},
    }
    if substatus is not None:
        answer["substatus"] = substatus
    if state == "DONE":
        answer["receiving"] = {
            "txHash": DELIVERY_HASH,
            "txLink": "https://basescan.org/tx/" + DELIVERY_HASH,
            "amount": "12541000",
            "token": token(BASE, USDC.lower()),
            "chainId": BASE,
            "timestamp": 1790000044,
        }
    return answer


def refusal(code: int, message: str, **more: Any) -> Json:
    return {"message": message, "code": code, **more}


def tool_error(code: str) -> Json:
    return {"errorType": "NO_QUOTE", "code": code, "tool": "across", "message": "Ask somebody else"}


def changed(answer: Json, path: str, value: Any) -> Json:
    """Return a copy in which `path` (dotted; numbers are indexes) is `value`; `...` removes it."""
    copy = deepcopy(answer)
    *way, last = path.split(".")
    at: Any = copy
    for step in way:
        at = at[int(step)] if isinstance(at, list) else at[step]
    key: Any = int(last) if isinstance(at, list) else last
    if value is ...:
        del at[key]
    else:
        at[key] = value
    return copy


class Lifi:
    """The provider under test, and the calls to its server."""

    def __init__(self, server: Scripted) -> None:
        self.server = server
        self.provider = LifiProvider(server.url, KEY, "quittance")

    @property
    def asked(self) -> list[Exchange]:
        return self.server.heard


Answers = list[tuple[int, Any]]


@contextmanager
def answering(*answers: tuple[int, Any] | Json, **headers: str) -> Iterator[Lifi]:
    """Run a LI.FI server that returns these responses in order, and repeats the last one."""
    left: Answers = [answer if isinstance(answer, tuple) else (200, answer) for answer in answers]

    def behave(exchange: Exchange) -> None:
        http_status, body = left.pop(0) if len(left) > 1 else left[0]
        exchange.reply(body, http_status, **headers)

    with scripted(behave, path="/v1") as server:
        yield Lifi(server)
