"""May this Solana transaction of a provider's be signed? Pure checks over its instructions."""

from collections.abc import Collection

from chains.clients.base import SolanaInstructions, SolanaTransaction
from payments.routing.base import Offer

SolanaAction = SolanaTransaction | SolanaInstructions


def problem_of(action: SolanaAction, offer: Offer, extra_native: int, routers: Collection[str]) -> str | None:  # noqa: ARG001 - not read yet
    """Return why the action must not be signed, or None."""
    return "routes from Solana are not judged yet"


def names_receiver(action: SolanaAction, receiver: str, routers: Collection[str]) -> bool:  # noqa: ARG001 - not read yet
    """Return whether an instruction of a pinned program names the receiver."""
    return False
