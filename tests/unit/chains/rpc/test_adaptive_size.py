"""The size of log queries adapts to what a node accepts."""

from chains.rpc.nodes import Adaptive


def test_size_grows_back_and_waits_longer_after_each_failure() -> None:
    size = Adaptive(1000)
    tries = []
    for number in range(3000):
        if size.size > 10:
            tries.append(number)
            while size.size > 10:
                size.failed(size.size)
        else:
            size.worked(size.size)
    assert size.size == 7
    gaps = [later - sooner for sooner, later in zip(tries[1:], tries[2:], strict=False)]
    assert gaps == sorted(gaps)
    assert len(tries) < 8
    for _ in range(100_000):
        size.worked(size.size)
    assert size.size == 1000


def test_size_recovers_quickly_after_one_success() -> None:
    size = Adaptive(1000)
    while size.size > 1:
        size.failed(size.size)
    while size._needed < Adaptive.MAX_SUCCESSES:
        for _ in range(size._needed):
            size.worked(size.size)
        size.failed(size.size)
    successes = 0
    while size.size < 1000:
        size.worked(size.size)
        successes += 1
    assert successes < Adaptive.MAX_SUCCESSES + 20 * Adaptive.FIRST_SUCCESSES
