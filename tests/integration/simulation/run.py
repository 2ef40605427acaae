"""Simulate histories: `python -m tests.integration.simulation.run`, or `make simulate`.

`SEEDS=1000` is the number of seeds (200), `FIRST=0` the first one, `PROCESSES=2` the number of processes.
`SEED=7` runs only that seed and prints its steps. `MUTANT=event_outside` plants a defect, and stops at the
first history that finds it. Exit status 1 if an error was found. Each error is printed with its seed.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

_WORKERS, _WEBS = 3, 2
# Real time for one history. On an idle machine, a history takes about a second.
_LIMIT_SECONDS = 180


def main() -> int:
    """Run the seeds given by the environment variables."""
    if "SIMULATED_SEEDS" in os.environ:
        _simulate([int(seed) for seed in os.environ["SIMULATED_SEEDS"].split(",")])
        return 0
    if "SEED" in os.environ:
        seeds, processes = [int(os.environ["SEED"])], 1
    else:
        first, count = int(os.environ.get("FIRST", "0")), int(os.environ.get("SEEDS", "200"))
        seeds, processes = list(range(first, first + count)), int(os.environ.get("PROCESSES", "2"))
    wrong = done = steps = completed = 0
    mutant = os.environ.get("MUTANT", "")
    for result in results(
        seeds, processes, is_verbose="SEED" in os.environ, mutant=mutant, until_found=bool(mutant)
    ):
        done, steps, completed = done + 1, steps + result["steps"], completed + result["completed"]
        if result["found"] or len(seeds) == 1:
            print(f"seed {result['seed']}: {result['steps']} steps, digest {result['digest']}", flush=True)
        for line in result["found"]:
            print(f"WRONG with SEED={result['seed']}: {line}", flush=True)
        wrong += bool(result["found"])
        if len(seeds) > 1 and done % 20 == 0:
            print(f"{done} of {len(seeds)} histories", flush=True)
    print(f"{done} histories, {steps} steps, {completed} payments completed amid them: {wrong} wrong")
    if done < len(seeds) and not mutant:
        print(f"{len(seeds) - done} histories did not end")
        return 1
    return 1 if wrong else 0


def results(
    seeds: list[int],
    processes: int,
    *,
    is_verbose: bool = False,
    mutant: str = "",
    until_found: bool = False,
) -> Iterator[dict[str, Any]]:
    """Simulate the seeds in several processes; yield each history's result when it ends.

    With `until_found`, a process stops at its first history with an error.
    """
    shares = [share for place in range(processes) if (share := seeds[place::processes])]
    ended: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
    for share in shares:
        environment = {
            **os.environ,
            # The order of a set of strings decides the order of some statements.
            "PYTHONHASHSEED": "0",
            "SIMULATED_SEEDS": ",".join(map(str, share)),
            "SIMULATED_STEPS": "1" if is_verbose else "",
            "MUTANT": mutant,
            **({"SIMULATED_UNTIL_FOUND": "1"} if until_found else {}),
        }
        Thread(target=_run, args=(environment, ended), daemon=True).start()
    for _ in shares:
        while (result := ended.get()) is not None:
            yield result


def _run(environment: dict[str, str], ended: "SimpleQueue[dict[str, Any] | None]") -> None:
    command = [sys.executable, "-m", "tests.integration.simulation.run"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout or ():
            if line.startswith("{"):
                ended.put(json.loads(line))
            else:
                print(line, end="", flush=True)
    ended.put(None)


def _simulate(seeds: list[int]) -> None:
    """Run these histories in this process; print each result as a line of JSON."""
    from demo.services.process import stop_all
    from tests import migrated
    from tests.plugin import SETTINGS

    with tempfile.TemporaryDirectory(prefix="quittance-simulation-") as folder:
        os.environ |= {
            **SETTINGS,
            "REDIS_URL": "redis://127.0.0.1:9/0",  # required, but not used
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        try:
            server = migrated.start(Path(folder) / "pg")
            os.environ["DATABASE_URL"] = server.url.replace("/quittance?", f"/{migrated.TEMPLATE}?")
            _simulate_here(seeds)
        finally:
            stop_all()


def _simulate_here(seeds: list[int]) -> None:
    import psycopg  # noqa: F401 - measures its timeouts in real time

    from tests.integration.simulation import environment

    environment.seed_chance(0)
    environment.install(sleep=lambda _: None)

    import django
    from django.conf import settings

    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    django.setup()

    from tests.integration.simulation import database, mutants, stage, work
    from tests.integration.simulation.actors import Actor
    from tests.integration.simulation.history import History, Logged

    logged = Logged()
    logging.root.handlers = [logged]
    logging.root.setLevel(logging.ERROR)
    database.use_without_pool()
    own = database.Database(os.environ["DATABASE_URL"])
    own.set_up()
    work.use_simulated_heartbeat()
    shared = stage.set_up()
    mutant = os.environ.get("MUTANT")
    if mutant:
        mutants.MUTANTS[mutant]()
    workers = [Actor(f"worker {number + 1}") for number in range(_WORKERS)]
    webs = [Actor(f"web {number + 1}") for number in range(_WEBS)]
    say = print if os.environ["SIMULATED_STEPS"] else None
    for seed in seeds:
        with _limit(f"seed {seed} did not end in {_LIMIT_SECONDS} seconds"):
            result = History(seed, shared, workers, webs, own, logged, say).run()
        print(json.dumps(result.__dict__), flush=True)
        if result.found and "SIMULATED_UNTIL_FOUND" in os.environ:
            break


@contextmanager
def _limit(message: str) -> Iterator[None]:
    """Raise TimeoutError with the message in the main thread, even while it waits."""

    def end(*_: object) -> None:
        raise TimeoutError(message)

    signal.signal(signal.SIGALRM, end)
    signal.alarm(_LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


if __name__ == "__main__":
    sys.exit(main())
