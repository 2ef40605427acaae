"""The browser's stored data about a transaction that its wallet sent."""

from typing import Any

from playwright.sync_api import Page

from tests.support.wallets.stub import NAME

_KEEP = "([id, sent]) => localStorage.setItem(`quittance:${id}`, JSON.stringify({ own: [sent] }))"


def sent_here(page: Page, order: dict[str, Any], transaction_hash: str) -> None:
    """Store this transaction in the browser as sent by one of its wallets, and open the page again."""
    sent = {
        "hash": transaction_hash,
        "chainId": order["chain_id"],
        "wallet": NAME,
        "sender": "",
        "sentAt": 0,
        "replaced": [],
    }
    page.evaluate(_KEEP, [order["id"], sent])
    page.reload()
