"""A browser without scripts on the pages for paying by hand: it reads, sends and signs."""

import html
import re
from typing import Any
from urllib.parse import urlencode

from django.test import Client
from eth_account import Account
from eth_account.messages import encode_defunct

from payments.models import Payment
from tests.chain import LocalChain

FORM = "application/x-www-form-urlencoded"


class Bare:
    """A browser without scripts on one request's pages. It follows links, sends forms and stores no cookies."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.start = f"/pay/{order['shortcode']}/by-hand"
        self._client = Client(enforce_csrf_checks=True, raise_request_exception=False)

    def open(self, path: str) -> Any:
        return self._client.get(path)

    def send(self, path: str, **fields: Any) -> Any:
        return self._client.post(path, urlencode(fields), FORM)

    def ask(self, address: str) -> Any:
        return self.send(f"{self.start}/proof", wallet_address=address)

    def text_for(self, address: str) -> tuple[str, str]:
        answer = self.ask(address)
        assert answer.status_code == 303, answer.content.decode()
        page = str(answer["Location"])
        return page, text_on(self.open(page))

    def prove(self, chain: LocalChain, key: str | None = None) -> str:
        """Have an address prove itself; return the next page, which shows where to send the money."""
        page, text = self.text_for(Account.from_key(key or chain.payer_key).address)
        answer = self.send(page, signature=sign(text, key or chain.payer_key))
        assert (answer.status_code, answer["Location"]) == (303, page)
        return page

    def paste(self, transaction_hash: str) -> Payment:
        """Enter a hash; return its payment."""
        assert self.send(f"{self.start}/sent", transaction_hash=transaction_hash).status_code == 303
        return Payment.objects.get(transaction_hash=transaction_hash)


def text_on(answer: Any) -> str:
    """Return the text to sign, as the browser would copy it."""
    found = re.search(r'<pre [^>]*id="proof-text"[^>]*>(.*?)</pre>', answer.content.decode(), re.DOTALL)
    assert found, answer.content.decode()
    return html.unescape(found[1])


def sign(text: str, key: str) -> str:
    return "0x" + Account.sign_message(encode_defunct(text=text), key).signature.hex().removeprefix("0x")
