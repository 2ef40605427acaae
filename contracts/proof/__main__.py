"""`python -m contracts.proof` proves properties of the forwarder.

The program also shows that each proof fails for a planted defect (a mutant).

Halmos executes the compiled code with symbolic inputs. The solvers z3 and yices decide whether an input breaks an
assertion in ForwarderProof.sol. The exit status is 0 if all properties are proved and each mutant is found, and 1 if
not.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Any

from contracts.proof.mutants import MUTANTS
from demo.services import node

REPOSITORY = Path(__file__).resolve().parents[2]
HALMOS = REPOSITORY / ".local" / "proof" / "bin" / "halmos"
FORWARDER = REPOSITORY / "contracts" / "Forwarder.sol"
PROOF = REPOSITORY / "contracts" / "proof" / "ForwarderProof.sol"
_PASS, _COUNTEREXAMPLE = 0, 1  # Halmos's exit codes of a check


class Verdict(StrEnum):
    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


def main() -> int:
    verdicts = prove()
    for check in sorted(checks() | verdicts.keys()):
        print(f"{check}: {verdicts.get(check, Verdict.UNDECIDED)}", flush=True)
    is_proved = verdicts == dict.fromkeys(checks(), Verdict.PROVED)
    original = FORWARDER.read_text()
    for mutant in MUTANTS:
        verdicts = prove(source=mutant.source(original), check=mutant.refutes)
        is_found = verdicts == {mutant.refutes: Verdict.REFUTED}
        print(f"A mutant, {mutant.name}: {'found' if is_found else 'NOT FOUND'}", flush=True)
        is_proved &= is_found
    print("All is proved." if is_proved else "Not proved: see above.")
    return 0 if is_proved else 1


def checks() -> set[str]:
    """Return the names of the checks in ForwarderProof.sol."""
    return set(re.findall(r"function (check_\w+)", PROOF.read_text()))


def prove(*, source: str | None = None, check: str = "check_") -> dict[str, Verdict]:
    """Return the results of the checks whose names begin with `check`. `source` replaces Forwarder.sol.

    Raises RuntimeError if the prover fails.
    """
    with tempfile.TemporaryDirectory(prefix="quittance-proof-") as folder:
        project = Path(folder)
        _build(project / "out", source)
        # Halmos would first build with Foundry. Here the build is already done.
        (project / "forge").symlink_to("/bin/true")
        report = project / "report.json"
        selection = ["--root", folder, "--contract", PROOF.stem, "--function", check]
        done = subprocess.run(
            [str(HALMOS), *selection, "--json-output", str(report), "--no-status", "--early-exit"],
            cwd=project,
            env={**os.environ, "PATH": os.pathsep.join([folder, str(HALMOS.parent), os.environ["PATH"]])},
            capture_output=True,
            text=True,
            check=False,
        )
        if not report.exists():
            raise RuntimeError(f"The prover failed.\n{done.stdout}{done.stderr}")
        return read_verdicts(json.loads(report.read_text()))


def read_verdicts(report: dict[str, Any]) -> dict[str, Verdict]:
    """Return the result of each check in Halmos's report."""
    tests = [test for tests in report["test_results"].values() for test in tests]
    return {test["name"].split("(")[0]: _verdict(test) for test in tests}


def _verdict(test: dict[str, Any]) -> Verdict:
    # If the prover stopped a loop early, it has not checked all inputs.
    if test["exitcode"] == _PASS and not test["num_bounded_loops"]:
        return Verdict.PROVED
    return Verdict.REFUTED if test["exitcode"] == _COUNTEREXAMPLE else Verdict.UNDECIDED


def _build(out: Path, source: str | None) -> None:
    environment = {**node.environment(), "FORWARDER": source or ""}
    script = str(PROOF.with_name("build.js"))
    subprocess.run([str(node.node()), script, str(out)], check=True, env=environment)


if __name__ == "__main__":
    sys.exit(main())
