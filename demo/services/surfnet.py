"""A private Solana chain: Surfnet, from its npm package, on a loopback port.

Each start begins with an empty chain. Transactions of an earlier run are lost.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import requests

from demo.services import node, packages
from demo.services.process import Child, ServiceError, free_port, require_free, spawn

VERSION = "1.5.0"
CHAIN_ID = 900_000_000_001
"""Our own chain id for the local cluster. For the public clusters, the service uses LI.FI's chain ids."""
NETWORK = "local"
SLOT_MS = 400
"""The same value as on the public clusters."""
_SCRIPT = Path(__file__).with_name("surfnet.js")


@dataclass(frozen=True)
class Surfnet:
    """A running chain, with its endpoint for JSON-RPC (also in batches)."""

    url: str
    child: Child

    @property
    def pid(self) -> int:
        return self.child.pid

    def stop(self) -> None:
        self.child.stop()


def is_offered() -> bool:
    """Whether Surfnet has a build for this machine."""
    scope = packages.install() / "node_modules" / "@solana"
    return any(scope.glob("surfpool-*/*.node"))


def start(*, port: int | None = None, slot_ms: int = SLOT_MS, log: Path | None = None) -> Surfnet:
    """Start an empty chain on 127.0.0.1, by default on a free port, and wait until it is ready.

    A transaction is confirmed within a slot of `slot_ms`, and final 31 slots later. A blockhash is valid for 150 slots.
    Raises ServiceError with the end of the log, if the port is taken, or if Surfnet has no build for this machine.
    """
    if not is_offered():
        raise ServiceError(f"Surfnet {VERSION} has no build for this machine.")
    port = port or free_port()
    require_free(port)
    log = log or Path(tempfile.mkdtemp(prefix="quittance-surfnet-")) / "surfnet.log"
    command: list[str | Path] = [node.node(), _SCRIPT, str(port), str(slot_ms)]
    child = spawn("surfnet", command, log, cwd=packages.PACKAGES)
    url = f"http://127.0.0.1:{port}"
    child.await_ready(lambda: _is_healthy(url), 60, "Its log says why:")
    return Surfnet(url=url, child=child)


def _is_healthy(url: str) -> bool:
    question = {"jsonrpc": "2.0", "id": 1, "method": "getHealth", "params": []}
    try:
        return bool(requests.post(url, json=question, timeout=2).json().get("result") == "ok")
    except (requests.RequestException, ValueError, AttributeError):
        return False
