"""Build the text that a wallet signs to prove that it will pay: EIP-4361 on EVM, Sign-In-With-Solana on Solana."""

import unicodedata
from datetime import UTC, datetime
from urllib.parse import urlsplit

from chains.amounts import display_amount
from payments.models import PaymentRequest, Route


def proof_message(route: Route, checkout_url: str, issued_at: datetime) -> str:
    """Return the message: the checkout's domain, the merchant, the request and the exact amount.

    The random part of the route's id is the nonce, so that every message is unique.
    """
    request = route.request
    domain, family = urlsplit(checkout_url).netloc, route.chain.family
    return "\n".join(
        (
            f"{domain} wants you to sign in with your {family.account_name} account:",
            route.wallet_address,
            "",
            _statement(request, route.amount),
            "",
            f"URI: {checkout_url}/pay/{request.shortcode}",
            "Version: 1",
            f"Chain ID: {family.chain_reference(route.chain_id, route.chain.network)}",
            f"Nonce: {route.id.removeprefix('rt_')}",
            f"Issued At: {_time(issued_at)}",
            f"Expiration Time: {_time(route.expires_at)}",
            f"Request ID: {request.id}",
        )
    )


def _statement(request: PaymentRequest, amount: int) -> str:
    merchant = _plain(request.merchant.display_name or request.merchant.name)
    what = f"{display_amount(amount, request.token.decimals)} {_plain(request.token.symbol)}"
    where = _plain(request.chain.name)
    return f"I will pay {what} on {where} from this wallet to {request.recipient_address} for {merchant}."


def _plain(text: str) -> str:
    """Keep the characters that EIP-4361 allows in a statement: printable ASCII on one line."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return (
        "".join(c for c in ascii_text if c.isalnum() or c in " -._~:/?#[]@!$&'()*+,;=").strip()
        or "the merchant"
    )


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
