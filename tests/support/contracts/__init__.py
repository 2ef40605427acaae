"""The published contracts of real smart accounts. On first use, they are installed from pinned npm packages."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from demo.services import packages
from demo.services.process import LOCAL


@cache
def creation_code(package: str, path: str) -> bytes:
    """Return the deployment code of the contract whose artifact is at `path` in the package."""
    file = _modules() / package / path
    if file.suffix == ".json":
        artifact: dict[str, Any] = json.loads(file.read_text())
        return bytes.fromhex(artifact["bytecode"][2:])
    found = re.search(r'const bytecode = "0x([0-9a-f]+)"', file.read_text())
    assert found is not None, file
    return bytes.fromhex(found[1])


@cache
def _modules() -> Path:
    installed = packages.install(
        Path(__file__).parent, LOCAL / "contracts", "the contracts of smart accounts"
    )
    return installed / "node_modules"
