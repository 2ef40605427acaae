"""Warnings about a route. For example, the merchant may have to accept the payment."""

from dataclasses import dataclass

from chains.families import get_client
from chains.models import Chain
from checkout.fan_out import query_all

MAY_NEED_ACCEPTANCE = "may_need_acceptance"
DEADLINE_SECONDS = 2.0


@dataclass(frozen=True)
class Warned:
    code: str
    message: str


def route_warnings(chain: Chain, wallet_address: str) -> list[Warned]:
    """Return the warnings about payments of this wallet on `chain`.

    A route never fails because of its warnings: return no warnings if the chain takes longer than DEADLINE_SECONDS.
    """
    results = query_all(
        [chain],
        lambda asked: get_client(asked).may_be_unverifiable(wallet_address),
        within_seconds=DEADLINE_SECONDS,
        about="whether a wallet's payments can be verified",
    )
    if not results.get(chain):
        return []
    message = (
        f"This wallet is a contract account, and its payments on {chain.name} can't be verified automatically. The "
        "merchant may have to accept this one first. To have it credited immediately, pay from another wallet."
    )
    return [Warned(MAY_NEED_ACCEPTANCE, message)]
