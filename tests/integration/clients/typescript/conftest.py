"""The built TypeScript client, and Node.js programs that use it with the running service."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chains.models import Chain, Token
from demo.services import node
from tests.processes import REPOSITORY, eventually
from tests.unit.clients.python.conftest import key, service

__all__ = ["key", "service"]

PACKAGE = REPOSITORY / "clients" / "typescript"
RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"

Run = Callable[..., "Program"]


@pytest.fixture(scope="session")
def package() -> Path:
    """The client's folder, with its dependencies installed and `dist` built from the current sources."""
    if not (PACKAGE / "node_modules" / ".bin" / "tsc").exists():
        node.npm_ci(PACKAGE)
    built = PACKAGE / "dist" / "cjs" / "package.json"
    sources = [PACKAGE / "package.json", PACKAGE / "build.mjs", *(PACKAGE / "src").rglob("*.ts")]
    if not built.exists() or built.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        subprocess.run([str(node.node()), "build.mjs"], cwd=PACKAGE, env=node.environment(), check=True)
    return PACKAGE


@pytest.fixture
def shop(package: Path, service: str, key: str, tmp_path: Path) -> dict[str, str]:
    """The environment variables of a merchant's program: the service, Alice's key and the payment's fields."""
    chain = Chain.objects.create(
        id=8453, name="Base", chain_type="evm", native_symbol="ETH", confirmations="5"
    )
    address = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
    token = Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=address
    )
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "quittance").symlink_to(package)
    return {
        **node.environment(),
        "QUITTANCE_BASE_URL": service,
        "QUITTANCE_API_KEY": key,
        "TOKEN_ID": str(token.pk),
        "CHAIN_ID": str(chain.pk),
        "WALLET": RECIPIENT,
        "NO_PROXY": "*",
    }


class Program:
    """A running Node.js program and its output."""

    def __init__(self, child: "subprocess.Popen[str]", output: Path) -> None:
        self._child = child
        self._output = output

    @property
    def said(self) -> str:
        """The program's output so far, with its errors."""
        return self._output.read_text()

    @property
    def has_ended(self) -> bool:
        return self._child.poll() is not None

    def ended_well(self) -> str:
        """Wait until the program ends; return its output. Fails with the output if the program failed."""
        eventually(lambda: self.has_ended, "the program ended", 60)
        assert self._child.returncode == 0, self.said
        return self.said


@pytest.fixture
def run(shop: dict[str, str], tmp_path: Path) -> Iterator[Run]:
    """Return a function that runs a text as a module next to the package.

    Programs that still run are stopped at the end.
    """
    children: list[subprocess.Popen[str]] = []

    def start(text: str, **more: str) -> Program:
        number = len(children)
        module, output = tmp_path / f"program{number}.mjs", tmp_path / f"said{number}.txt"
        module.write_text(text)
        with output.open("w") as said:
            child = subprocess.Popen(
                [str(node.node()), str(module)],
                cwd=tmp_path,
                env={**shop, **more},
                stdout=said,
                stderr=subprocess.STDOUT,
                text=True,
            )
        children.append(child)
        return Program(child, output)

    yield start
    for child in children:
        child.kill()
        child.wait(timeout=20)
