"""Wallets in the page that fail in the ways of real wallets."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.chain import LocalChain

NAME = "Stub Wallet"
ELSEWHERE = 1
_SCRIPT, _SOLANA_SCRIPT = (
    (Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("stub.js", "solana_stub.js")
)
_ICON = (
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'>"
    "<circle cx='4.5' cy='4.5' r='4' fill='teal'/></svg>"
)


def error(code: int, message: str = "", **more: Any) -> dict[str, Any]:
    """Return a scripted response: the wallet throws this error."""
    return {"error": {"code": code, "message": message, **more}}


NEVER, LATER = "never", "later"
"""Plans of an answer that does not come, and of one that `answer` gives."""


def thrown(said: str) -> dict[str, Any]:
    """Return a scripted response: the wallet throws a text instead of an error, as some do."""
    return {"throws": said}


class _Stub:
    """The functions that wallets of both families share."""

    def __init__(self, page: Page, script: str, key: str, plan: dict[str, Any]) -> None:
        self.page = page
        self.key = key
        # The file begins with a comment.
        self.script = f"(\n{script})({json.dumps({'key': key, **plan})})"
        page.add_init_script(self.script)

    def arrive(self) -> None:
        """Add the wallet to the open page, like a wallet that loads slowly."""
        self.page.evaluate(self.script)

    def asked(self, method: str) -> list[Any]:
        """Return the parameters of each call of `method` in this page."""
        calls = self.page.evaluate("key => window.stubs[key].asked", self.key)
        return [call.get("params") for call in calls if call["method"] == method]

    def show(self, *accounts: str) -> None:
        """Show other accounts from now on, even after a reload. The page gets no event."""
        script = """([key, accounts]) => {
            window.stubs[key].state.accounts = accounts;
            sessionStorage.setItem(`stub:${key}:accounts`, JSON.stringify(accounts));
        }"""
        self.page.evaluate(script, [self.key, list(accounts)])

    def plan(self, method: str, *answers: Any) -> None:
        """Respond to the next calls of `method` with these responses."""
        script = "([key, method, answers]) => void (window.stubs[key].answers[method] = answers)"
        self.page.evaluate(script, [self.key, method, list(answers)])

    def answer(self, value: Any) -> None:
        """Send the response that was planned as LATER."""
        self.page.evaluate("([key, value]) => window.stubs[key].answer(value)", [self.key, value])


class StubWallet(_Stub):
    """An Ethereum wallet in each page that is opened from now on. It sends to the local chain."""

    def __init__(self, page: Page, chain: LocalChain, **plan: Any) -> None:
        self.name = str(plan.get("name", NAME))
        usual = {"name": self.name, "icon": _ICON, "chainId": chain.chain_id, "accounts": [chain.payer]}
        super().__init__(page, _SCRIPT, self.name, {**usual, **plan})

    def emit(self, event: str, value: Any) -> None:
        """Send an event to the page."""
        self.page.evaluate(
            "([key, event, value]) => window.stubs[key].emit(event, value)", [self.key, event, value]
        )

    def change_chain(self, chain_id: int) -> None:
        """Change the chain, as the wallet's owner does."""
        self.page.evaluate("([key, id]) => void window.stubs[key].change(id)", [self.key, chain_id])


class SolanaStub(_Stub):
    """A Solana wallet (Wallet Standard) that sends to the local ledger.

    `without` names missing features, which can include `events`. `clusters` are those that the wallet and its
    accounts support.
    """

    def __init__(self, page: Page, address: str, **plan: Any) -> None:
        self.name = str(plan.get("name", NAME))
        here = {"accounts": [address], "clusters": ["solana:localnet"], "without": []}
        usual = {"name": self.name, "icon": _ICON, **here}
        super().__init__(page, _SOLANA_SCRIPT, f"solana:{self.name}", {**usual, **plan})

    def change(self, *accounts: str) -> None:
        """Show these accounts from now on; send the event to the page."""
        self.page.evaluate(
            "([key, accounts]) => window.stubs[key].change(accounts)", [self.key, list(accounts)]
        )
