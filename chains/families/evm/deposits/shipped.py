"""The compiled contracts, as `contracts/build.js` wrote them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True)
class ShippedContract:
    """`init_code` deploys the contract; `code` is then the code at its address.

    In a deployed forwarder's code, its recipient replaces the zeros.
    """

    abi: list[dict[str, Any]]
    init_code: bytes
    code: bytes


def _shipped(contract: dict[str, Any]) -> ShippedContract:
    init_code, code = (bytes.fromhex(contract[name][2:]) for name in ("bytecode", "deployedBytecode"))
    return ShippedContract(contract["abi"], init_code, code)


_BUILT = json.loads(Path(__file__).with_name("contracts.json").read_text())

FORWARDER: Final = _shipped(_BUILT["Forwarder"])
FACTORY: Final = _shipped(_BUILT["ForwarderFactory"])
