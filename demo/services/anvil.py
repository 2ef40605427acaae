"""A private EVM chain: anvil, from its npm package, on a loopback port."""

import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import requests

from demo.services import node, packages
from demo.services.process import Child, ServiceError, free_port, require_free, spawn

VERSION = "1.7.1"
CHAIN_ID = 31337

# Accounts of anvil's public mnemonic. Each has 10,000 ETH at the start. The keys are public, so don't use these
# accounts on other chains.
DEPLOYER_KEY = "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"
"""Account 9 only deploys the tokens, so that their addresses are the same on every machine."""
WALLET_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
"""Account 0 is the demo wallet, the customer."""
WALLET_ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
MERCHANT_ADDRESS = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
"""Account 2 is the demo shop's wallet."""
MERCHANT_KEY = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"
SPONSOR_KEY = "0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356"
"""Account 7 pays the network fee of customers who sign a transfer."""


@dataclass(frozen=True)
class Anvil:
    """A running chain. `url` is its endpoint for JSON-RPC and WebSocket."""

    url: str
    chain_id: int
    child: Child

    @property
    def pid(self) -> int:
        return self.child.pid

    def stop(self) -> None:
        """Stop the chain. If the chain has a state file, it first writes its state."""
        self.child.stop(patience=30)


def start(
    *,
    chain_id: int = CHAIN_ID,
    port: int | None = None,
    block_time: float | None = None,
    state: Path | None = None,
    slots_in_an_epoch: int | None = None,
    extra_args: Sequence[str] = (),
    log: Path | None = None,
) -> Anvil:
    """Start a chain on 127.0.0.1, by default on a free port.

    Wait until the chain is ready. If anvil is missing, install it.

    Without `block_time` (seconds), each transaction is mined at once in its own block. The chain is read from the file
    `state`, and written to it each minute and at the end. The block `safe` is `slots_in_an_epoch` blocks behind the
    head, and the block `finalized` is twice as far behind. The log is in the directory of `state` or, without a
    `state`, in a temporary directory. Raises ServiceError with the end of the log, or if the port is taken.
    """
    program = install()
    port = port or free_port()
    require_free(port)
    command = [str(program), "--host", "127.0.0.1", "--port", str(port), "--chain-id", str(chain_id)]
    if block_time is not None:
        command += ["--block-time", f"{block_time:g}"]
    if state is not None:
        state.parent.mkdir(parents=True, exist_ok=True)
        command += ["--state", str(state), "--state-interval", "60"]
    if slots_in_an_epoch is not None:
        command += ["--slots-in-an-epoch", str(slots_in_an_epoch)]
    directory = state.parent if state is not None else Path(tempfile.mkdtemp(prefix="quittance-anvil-"))
    # Anvil writes older states for queries about past blocks. The next run doesn't need them.
    history = directory / f"history-{port}"
    shutil.rmtree(history, ignore_errors=True)
    command += ["--cache-path", str(history)]
    child = spawn("anvil", [*command, *extra_args], log or directory / "anvil.log")
    url = f"http://127.0.0.1:{port}"
    remedy = f"To begin with an empty chain, remove {state} and start again." if state else ""
    child.await_ready(lambda: _chain_id(url) == chain_id, 60, remedy)
    return Anvil(url=url, chain_id=chain_id, child=child)


def install() -> Path:
    """Return the path of anvil. The first call installs it from the pinned npm package (43 MB)."""
    name = f"anvil-{_platform()}"
    program = packages.install() / "node_modules" / "@foundry-rs" / name / "bin" / "anvil"
    if not program.exists():  # the lock file doesn't have this platform
        _install_platform_package(f"@foundry-rs/{name}@{VERSION}")
    if not program.exists():
        raise ServiceError(
            f"anvil {VERSION} has no build for this machine ({sys.platform} {platform.machine()})."
        )
    program.chmod(0o755)
    return program


def _install_platform_package(package: str) -> None:
    command = [
        *node.npm(),
        "install",
        "--no-save",
        "--no-package-lock",
        "--ignore-scripts",
        "--loglevel=error",
        package,
    ]
    done = subprocess.run(
        command, cwd=packages.PACKAGES, env=node.environment(), capture_output=True, text=True
    )
    if done.returncode:
        raise ServiceError(f"{package} could not be installed.\n{done.stderr}".rstrip())


def _platform() -> str:
    processor = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
    return f"{sys.platform}-{processor.get(platform.machine().lower(), platform.machine())}"


def _chain_id(url: str) -> int | None:
    question = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
    try:
        return int(requests.post(url, json=question, timeout=2).json()["result"], 16)
    except (requests.RequestException, ValueError, KeyError, TypeError):
        return None
