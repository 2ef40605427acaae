"""What comes of asking for routes, and of having one built: shared by the direct and the swapping ways."""

from dataclasses import dataclass
from typing import Any

from payments.models import Payment


@dataclass(frozen=True)
class NoRoute:
    """Why there is no way to pay with this token; an answer, not an error."""

    code: str
    message: str


@dataclass(frozen=True)
class Built:
    """An unsigned transaction and what will bind it; with `payer`, `proof_message` is to be signed as well."""

    transaction: dict[str, Any] | str
    binding: Payment.BoundBy
    proof_message: str = ""
