"""The simulator finds no error in the product, finds each planted defect, and repeats a history exactly."""

import pytest

from tests.integration.simulation.run import results

# `make simulate` runs 200 histories, or as many as you ask for.
SEEDS = 60
PROCESSES = 2
# For each mutant, one in two to six of these histories finds it. Without a mutant, none finds anything.
MUTANT_SEEDS = range(100, 130)
DEADLOCKING_SEED = 107


def test_simulated_histories_violate_no_invariant() -> None:
    histories = list(results(list(range(SEEDS)), PROCESSES))
    assert [history["seed"] for history in histories if history["found"]] == []
    assert len(histories) == SEEDS
    assert sum(history["completed"] for history in histories) > SEEDS / 2


@pytest.mark.parametrize(
    ("mutant", "found"),
    [
        ("claim_guard", "stored a result after it had lost its lease"),
        ("consumption_outside", "and consumed None"),
        ("event_outside", "with 0 events"),
    ],
)
def test_simulator_finds_planted_defect(mutant: str, found: str) -> None:
    *_, last = results(list(MUTANT_SEEDS), 1, mutant=mutant, until_found=True)
    assert any(found in each for each in last["found"])


def test_history_that_deadlocks_leaves_nothing_behind() -> None:
    seeds = [DEADLOCKING_SEED, 3, DEADLOCKING_SEED]
    first, other, again = results(seeds, 1, mutant="lock_order")
    [message] = first["found"]
    assert message.startswith("a deadlock: ")
    assert again == first
    [alone] = results([3], 1, mutant="lock_order")
    assert other == alone


def test_same_seed_repeats_every_step_in_another_process() -> None:
    # The second process first runs another history. This must not change the later ones.
    first = {history["seed"]: history["digest"] for history in results([3, 4, 5], 1)}
    second = {history["seed"]: history["digest"] for history in results([5, 4, 3], 1)}
    assert first == second
    assert len(set(first.values())) == 3
