"""The portal's action that searches a deposit address for payments at once."""

from typing import Any

from chains.client import ChainError
from config.admin.actions import Action
from config.api.errors import ApiError, ErrorCode
from payments.deposits.looks import look_now, look_soon
from payments.models import PaymentRequest

SECONDS = 20.0


class CheckDeposits(Action):
    name, icon, permission = "check-deposits", "search", "payments.retry_payment"
    queries_nodes = True

    def label(self, row: PaymentRequest) -> str:  # noqa: ARG002 - the action interface
        return "Check now"

    def is_offered(self, row: PaymentRequest) -> bool:
        return row.deposit_address is not None

    def title(self, row: PaymentRequest) -> str:
        return f"Check the deposit address of {row}"

    def explanation(self, row: PaymentRequest) -> str:
        return (
            f"Searches {row.chain} for all transfers of {row.token.symbol} to {row.deposit_address} since the request "
            "was created. This takes up to 20 seconds. Payments that it finds are verified as usual."
        )

    def lock(self, row: PaymentRequest) -> PaymentRequest:
        """Don't lock the request yet, since the search may take long. Recording a payment locks the request."""
        return row

    def seen(self, row: PaymentRequest) -> str:
        return str(row.deposit_address)

    def perform(self, row: PaymentRequest, actor: str, answer: dict[str, Any]) -> tuple[str, str]:  # noqa: ARG002 - the action interface
        if look_soon(row):
            return "Deposit address: check requested.", "The address will be checked within a minute."
        try:
            look = look_now(row, seconds=SECONDS)
        except ChainError as error:
            message = f"No node of {row.chain} responded. Try again in a few seconds."
            raise ApiError(ErrorCode.NODE_UNAVAILABLE, message) from error
        found = f"{look.found} new payment{'' if look.found == 1 else 's'} found."
        if look.is_whole:
            return f"Deposit address checked: {found}", found
        searched = f"Only the blocks up to {look.next_block - 1:,} of {look.head:,} were searched in time."
        return f"Deposit address checked: {found} {searched}", f"{found} {searched}"
