"""Wallets in the page that fail as wallets are known to fail."""

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
    """Return the plan of one answer that is thrown."""
    return {"error": {"code": code, "message": message, **more}}


NEVER, LATER = "never", "later"
"""Plans of an answer that does not come, and of one that `answer` gives."""


def thrown(said: str) -> dict[str, Any]:
    """Return the plan of one answer that is a thrown text, as some wallets have it."""
    return {"throws": said}


class _Stub:
    """What wallets of both families have in common."""

    def __init__(self, page: Page, script: str, key: str, plan: dict[str, Any]) -> None:
        self.page = page
        self.key = key
        # The file begins with a comment.
        self.script = f"(\n{script})({json.dumps({'key': key, **plan})})"
        page.add_init_script(self.script)

    def arrive(self) -> None:
        """Come into the page that is open already, as a wallet does that was slow to load."""
        self.page.evaluate(self.script)

    def asked(self, method: str) -> list[Any]:
        """Return the parameters of each call of `method` in this page."""
        calls = self.page.evaluate("key => window.stubs[key].asked", self.key)
        return [call.get("params") for call in calls if call["method"] == method]

    def show(self, *accounts: str) -> None:
        """Show other accounts from now on, also after a reload, without an event to the page."""
        script = """([key, accounts]) => {
            window.stubs[key].state.accounts = accounts;
            sessionStorage.setItem(`stub:${key}:accounts`, JSON.stringify(accounts));
        }"""
        self.page.evaluate(script, [self.key, list(accounts)])

    def plan(self, method: str, *answers: Any) -> None:
        """Answer the next calls of `method` so."""
        script = "([key, method, answers]) => void (window.stubs[key].answers[method] = answers)"
        self.page.evaluate(script, [self.key, method, list(answers)])

    def answer(self, value: Any) -> None:
        """Give what was planned for later."""
        self.page.evaluate("([key, value]) => window.stubs[key].answer(value)", [self.key, value])


class StubWallet(_Stub):
    """An Ethereum wallet in each page that is opened from now on; what it sends goes to the local chain."""

    def __init__(self, page: Page, chain: LocalChain, **plan: Any) -> None:
        self.name = str(plan.get("name", NAME))
        usual = {"name": self.name, "icon": _ICON, "chainId": chain.chain_id, "accounts": [chain.payer]}
        super().__init__(page, _SCRIPT, self.name, {**usual, **plan})

    def emit(self, event: str, value: Any) -> None:
        """Report a change to the page."""
        self.page.evaluate(
            "([key, event, value]) => window.stubs[key].emit(event, value)", [self.key, event, value]
        )

    def change_chain(self, chain_id: int) -> None:
        """Move to another chain by its owner's hand."""
        self.page.evaluate("([key, id]) => void window.stubs[key].change(id)", [self.key, chain_id])


class SolanaStub(_Stub):
    """A Solana wallet, by Wallet Standard; what it sends goes to the local ledger.

    `without` names features that it lacks, `events` among them; `clusters` those that it and its accounts know.
    """

    def __init__(self, page: Page, address: str, **plan: Any) -> None:
        self.name = str(plan.get("name", NAME))
        here = {"accounts": [address], "clusters": ["solana:localnet"], "without": []}
        usual = {"name": self.name, "icon": _ICON, **here}
        super().__init__(page, _SOLANA_SCRIPT, f"solana:{self.name}", {**usual, **plan})

    def change(self, *accounts: str) -> None:
        """Show these accounts from now on, and report it to the page."""
        self.page.evaluate(
            "([key, accounts]) => window.stubs[key].change(accounts)", [self.key, list(accounts)]
        )
