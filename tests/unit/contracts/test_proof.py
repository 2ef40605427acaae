"""The prover's reports, and the mutants used to check it. `make prove` runs the prover itself."""

import pytest

from contracts.proof.__main__ import FORWARDER, Verdict, checks, read_verdicts
from contracts.proof.mutants import MUTANTS, Mutant


def report(**test: object) -> dict[str, object]:
    return {"test_results": {"ForwarderProof": [{"name": "check_x()", "num_bounded_loops": 0, **test}]}}


@pytest.mark.parametrize(
    ("test", "verdict"),
    [
        ({"exitcode": 0}, Verdict.PROVED),
        ({"exitcode": 1}, Verdict.REFUTED),
        ({"exitcode": 0, "num_bounded_loops": 1}, Verdict.UNDECIDED),
        ({"exitcode": 2}, Verdict.UNDECIDED),  # timed out
        ({"exitcode": 3}, Verdict.UNDECIDED),  # stuck
        ({"exitcode": 4}, Verdict.UNDECIDED),  # every path reverts, so nothing was proved
        ({"exitcode": 5}, Verdict.UNDECIDED),
    ],
)
def test_only_a_complete_search_proves_a_check(test: dict[str, object], verdict: Verdict) -> None:
    assert read_verdicts(report(**test)) == {"check_x": verdict}


def test_every_check_has_a_mutant_that_it_finds() -> None:
    assert {mutant.refutes for mutant in MUTANTS} == checks()
    assert len(checks()) == 3


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_changes_the_present_forwarder(mutant: Mutant) -> None:
    original = FORWARDER.read_text()
    assert mutant.source(original) != original


def test_mutant_of_an_older_forwarder_is_rejected() -> None:
    with pytest.raises(ValueError, match="no longer has exactly one"):
        MUTANTS[0].source("contract Forwarder {}")
