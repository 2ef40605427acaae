"""A wallet in the page that fails in every way that wallets are known to fail."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.chain import LocalChain

NAME = "Stub Wallet"
ELSEWHERE = 1
_SCRIPT = (Path(__file__).parent / "stub.js").read_text(encoding="utf-8")
_ICON = (
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'>"
    "<circle cx='4.5' cy='4.5' r='4' fill='teal'/></svg>"
)


def error(code: int, message: str = "", **more: Any) -> dict[str, Any]:
    """Return the plan of one answer that is thrown."""
    return {"error": {"code": code, "message": message, **more}}


class StubWallet:
    """One wallet in each page that is opened from now on; what it sends goes to the local chain."""

    def __init__(self, page: Page, chain: LocalChain, **plan: Any) -> None:
        self.page = page
        self.name = str(plan.get("name", NAME))
        usual = {"name": self.name, "icon": _ICON, "chainId": chain.chain_id, "accounts": [chain.payer]}
        # A comment stands at the head of the file.
        page.add_init_script(f"(\n{_SCRIPT})({json.dumps({**usual, **plan})})")

    def asked(self, method: str) -> list[Any]:
        """Return the parameters of each call of `method` in this page."""
        calls = self.page.evaluate("name => window.stubs[name].asked", self.name)
        return [call.get("params") for call in calls if call["method"] == method]

    def emit(self, event: str, value: Any) -> None:
        """Tell the page of a change."""
        self.page.evaluate(
            "([name, event, value]) => window.stubs[name].emit(event, value)", [self.name, event, value]
        )

    def change_chain(self, chain_id: int) -> None:
        """Move to another chain by its owner's hand."""
        self.page.evaluate("([name, id]) => void window.stubs[name].change(id)", [self.name, chain_id])

    def show(self, *accounts: str) -> None:
        """Show other accounts from now on, and tell nobody."""
        script = "([name, accounts]) => void (window.stubs[name].state.accounts = accounts)"
        self.page.evaluate(script, [self.name, list(accounts)])

    def plan(self, method: str, *answers: Any) -> None:
        """Answer the next calls of `method` so."""
        script = "([name, method, answers]) => void (window.stubs[name].answers[method] = answers)"
        self.page.evaluate(script, [self.name, method, list(answers)])
