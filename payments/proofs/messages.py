"""Build the message that a wallet signs to prove its payment: EIP-4361 on EVM, Sign-In-With-Solana on Solana."""

import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

from chains.amounts import display_amount
from chains.models import Chain
from payments.models import Payment, PaymentRequest, Route


def proof_message(route: Route, checkout_url: str, issued_at: datetime) -> str:
    """Return the message that a wallet signs before it pays. The message has the exact amount.

    The nonce is the random part of the route's id, so every message is unique.
    """
    request = route.request
    what = f"{display_amount(route.amount, request.token.decimals)} {_plain(request.token.symbol)}"
    where = f"on {_plain(request.chain.name)} from this wallet to {request.recipient_address}"
    statement = f"I will pay {what} {where} for {_merchant(request)}."
    nonce = route.id.removeprefix("rt_")
    terms = _Terms(route.chain, route.wallet_address, nonce, issued_at, route.expires_at)
    return _message(request, terms, statement, checkout_url)


def transfer_proof_message(
    payment: Payment,
    wallet_address: str,
    checkout_url: str,
    *,
    nonce: str,
    issued_at: datetime,
    expires_at: datetime,
) -> str:
    """Return the message for a transfer that is on the chain already. The message names the transaction and the order
    that it pays.
    """
    request = payment.request
    description = _plain(request.description or "")
    order = f"{description} ({request.shortcode})" if description else f"({request.shortcode})"
    statement = (
        f"My transfer {payment.transaction_hash} pays order {order} at {_merchant(request)} and no other."
    )
    terms = _Terms(payment.chain, wallet_address, nonce, issued_at, expires_at)
    return _message(request, terms, statement, checkout_url)


@dataclass(frozen=True)
class _Terms:
    """The values in the message's other lines: wallet, chain, nonce and times."""

    chain: Chain
    wallet_address: str
    nonce: str
    issued_at: datetime
    expires_at: datetime


def _message(request: PaymentRequest, terms: _Terms, statement: str, checkout_url: str) -> str:
    domain, family = urlsplit(checkout_url).netloc, terms.chain.family
    return "\n".join(
        (
            f"{domain} wants you to sign in with your {family.account_name} account:",
            terms.wallet_address,
            "",
            statement,
            "",
            f"URI: {checkout_url}/pay/{request.shortcode}",
            "Version: 1",
            f"Chain ID: {family.chain_reference(terms.chain.pk, terms.chain.network)}",
            f"Nonce: {terms.nonce}",
            f"Issued At: {_time(terms.issued_at)}",
            f"Expiration Time: {_time(terms.expires_at)}",
            f"Request ID: {request.id}",
        )
    )


def _merchant(request: PaymentRequest) -> str:
    return _plain(request.merchant.display_name or request.merchant.name) or "the merchant"


def _plain(text: str) -> str:
    """Keep only characters that EIP-4361 allows in a statement: printable ASCII on one line."""
    one_line = " ".join(text.split())
    ascii_text = unicodedata.normalize("NFKD", one_line).encode("ascii", "ignore").decode()
    return "".join(c for c in ascii_text if c.isalnum() or c in " -._~:/?#[]@!$&'()*+,;=").strip()


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
