"""The simulator finds nothing in the code, and repeats a history exactly."""

from tests.integration.simulation.run import results

SEEDS = 200
PROCESSES = 2


def test_simulated_histories_violate_no_invariant() -> None:
    histories = list(results(list(range(SEEDS)), PROCESSES))
    assert [history["seed"] for history in histories if history["found"]] == []
    assert len(histories) == SEEDS
    assert sum(history["completed"] for history in histories) > SEEDS / 2


def test_same_seed_repeats_every_step_in_another_process() -> None:
    # The second process begins with another history, which must leave nothing behind.
    first = {history["seed"]: history["digest"] for history in results([3, 4, 5], 1)}
    second = {history["seed"]: history["digest"] for history in results([5, 4, 3], 1)}
    assert first == second
    assert len(set(first.values())) == 3
