"""The results of requesting and building routes, shared by direct payments and swaps."""

from dataclasses import dataclass
from typing import Any

from payments.models import Payment


@dataclass(frozen=True)
class NoRoute:
    """The reason why there is no route from a token: a result, not an error."""

    code: str
    message: str


@dataclass(frozen=True)
class Built:
    """An unsigned transaction and its binding. With `payer`, the wallet also signs `proof_message`.

    With `authorization` there is no transaction: the wallet signs `typed_data`. The transaction of a sponsored route on
    Solana is signed, but not sent, by the wallet.
    """

    transaction: dict[str, Any] | str | None
    binding: Payment.BoundBy
    proof_message: str = ""
    typed_data: dict[str, Any] | None = None
