"""The results of requesting and building routes. Direct payments and swaps share them."""

from dataclasses import dataclass
from typing import Any

from payments.models import Payment


@dataclass(frozen=True)
class NoRoute:
    """Why there is no route from a token. `NoRoute` is a result, not an error."""

    code: str
    message: str


@dataclass(frozen=True)
class Built:
    """The data for the wallet to sign, and how the payment will be bound.

    Usually the data is an unsigned `transaction`. With `proof_message`, the wallet signs that message too. With
    `typed_data` there is no transaction: the wallet signs the data. On Solana, the wallet signs the transaction of a
    sponsored route, but doesn't send it.
    """

    transaction: dict[str, Any] | str | None
    binding: Payment.BoundBy
    proof_message: str = ""
    typed_data: dict[str, Any] | None = None
