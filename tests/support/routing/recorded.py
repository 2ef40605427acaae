"""Recorded responses of providers and nodes. `recordings/README.md` names the sources."""

import json
from pathlib import Path
from typing import Any


def recorded(name: str) -> Any:
    return json.loads((Path(__file__).parent / "recordings" / f"{name}.json").read_text())
