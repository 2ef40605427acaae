"""A wallet on another device.

It runs WalletConnect's own library in a separate process, and the test acts as its owner.
"""

import itertools
import json
import queue
import subprocess
import threading
from pathlib import Path
from typing import Any

from demo.services import node, packages
from demo.services.process import LOCAL

Message = dict[str, Any]
_FOLDER = Path(__file__).parent / "phone"
EVM_METHODS = ["eth_sendTransaction", "personal_sign"]
PATIENCE_SECONDS = 20


class Phone:
    """A customer's phone. `expect` waits for the wallet's events."""

    def __init__(self, project_id: str, relay_url: str) -> None:
        installed = packages.install(_FOLDER, LOCAL / "walletconnect", "WalletConnect's library")
        # Node.js looks for packages in the module's own folder.
        script = installed / "phone.mjs"
        script.write_text((_FOLDER / "phone.mjs").read_text())
        self._process = subprocess.Popen(
            [str(node.node()), str(script), project_id, relay_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._numbers = itertools.count(1)
        self._events: dict[str, queue.Queue[Message]] = {
            name: queue.Queue() for name in ("ready", "proposal", "request", "ended", "done")
        }
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.expect("ready")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
        self._reader.join()

    def forget(self) -> None:
        """Drop the events of earlier tests."""
        for name in ("proposal", "request", "ended"):
            while not self._events[name].empty():
                self._events[name].get_nowait()

    def expect(self, event: str) -> Message:
        """Return the next `proposal`, `request` or `ended`."""
        try:
            return self._events[event].get(timeout=PATIENCE_SECONDS)
        except queue.Empty:
            raise AssertionError(f"No {event} has come to the phone.") from None

    def scan(self, uri: str) -> Message:
        """Scan a QR code; return the session proposal."""
        self.does("pair", uri=uri)
        return self.expect("proposal")

    def approve(self, proposal: Message, **namespaces: Message) -> str:
        """Approve the proposal for these accounts; return the session's topic."""
        topic: str = self.does("approve", id=proposal["id"], namespaces=namespaces)
        return topic

    def reject(self, proposal: Message, code: int = 5000, message: str = "User rejected.") -> None:
        self.does("reject", id=proposal["id"], code=code, message=message)

    def answer(self, request: Message, result: Any) -> None:
        self.does("answer", topic=request["topic"], id=request["id"], result=result)

    def refuse(self, request: Message, code: int = 5000, message: str = "User rejected.") -> None:
        error = {"code": code, "message": message}
        self.does("refuse", topic=request["topic"], id=request["id"], error=error)

    def does(self, doing: str, **given: Any) -> Any:
        """Run an action of the wallet; return its result."""
        number = next(self._numbers)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"number": number, "doing": doing, **given}) + "\n")
        self._process.stdin.flush()
        done = self.expect("done")
        assert done["number"] == number
        if "error" in done:
            raise AssertionError(f"{doing}: {done['error']}")
        return done["value"]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            self._events[message.pop("event")].put(message)


def evm(*accounts: str, methods: list[str] | None = None) -> Message:
    """Return the permissions that a wallet grants for accounts such as `eip155:1:0x…`."""
    chains = sorted({account.rpartition(":")[0] for account in accounts})
    events = ["accountsChanged", "chainChanged"]
    return {"accounts": list(accounts), "chains": chains, "methods": methods or EVM_METHODS, "events": events}
