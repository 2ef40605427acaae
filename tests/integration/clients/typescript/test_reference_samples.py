"""The TypeScript samples of the API reference compile, and each makes the call that it documents."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from demo.services import node
from tests.loopback import Scripted
from tests.unit.config.api.schema.test_openapi import OPERATIONS
from tests.unit.config.api.schema.test_samples import BASE_URL, KEY, assert_called, recorded

__all__ = ["recorded"]

SAMPLES = {
    name: next(each["source"] for each in operation["x-codeSamples"] if each["label"] == "TypeScript")
    for name, (_, _, operation) in OPERATIONS.items()
}


@pytest.fixture
def folder(package: Path, tmp_path: Path) -> Path:
    """A folder from which programs can import the client."""
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "quittance").symlink_to(package)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    return tmp_path


def test_all_samples_compile_under_the_strictest_rules(package: Path, folder: Path) -> None:
    for name, source in SAMPLES.items():
        (folder / f"{name}.ts").write_text(source + "export {};\n")
    options = json.loads((package / "tsconfig.json").read_text())["compilerOptions"]
    types = str(package / "node_modules" / "@types")
    options |= {
        "noEmit": True,
        "rootDir": ".",
        "typeRoots": [types],
        "lib": ["es2022", "dom", "dom.asynciterable"],
    }
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}))
    done = subprocess.run(
        [str(package / "node_modules" / ".bin" / "tsc"), "-p", str(folder)],
        env=node.environment(), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_each_sample_makes_the_call_it_is_shown_beside(
    folder: Path, recorded: Callable[[str], Scripted]
) -> None:
    servers = {name: recorded(name) for name in SAMPLES}
    for name, source in SAMPLES.items():
        assert BASE_URL in source
        # The samples use no TypeScript syntax, so each is also valid JavaScript.
        (folder / f"{name}.mjs").write_text(source.replace(BASE_URL, servers[name].url))
    (folder / "samples.mjs").write_text("".join(f'await import("./{name}.mjs");\n' for name in SAMPLES))
    done = subprocess.run(
        [str(node.node()), "samples.mjs"],
        cwd=folder,
        env={**node.environment(), "QUITTANCE_API_KEY": KEY, "NO_PROXY": "*"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    for name, server in servers.items():
        assert_called(server, name)
