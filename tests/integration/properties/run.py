"""Try many random histories in several processes: `python -m tests.integration.properties.run`, or `make properties`.

`SEQUENCES` is the number of histories of each kind (20,000), `PROCESSES` the number of parallel processes (2),
and `ROUND` the number of histories per process (500). Arguments select some of the test files. A failure is
printed with the seed that reproduces it. The last lines count the actions. The run also fails if one of them
never occurred.
"""

import os
import secrets
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.integration.properties import counts

TESTS = (str(Path(__file__).parent), str(Path(__file__).parents[1] / "payments" / "test_against_a_model.py"))
ROUND = int(os.environ.get("ROUND", "500"))
"""Histories of each kind per process. Two of the three kinds are rolled back within one long transaction, so that
PostgreSQL can't vacuum what they leave: after some thousands of them, most of the time goes into reading past dead
rows."""


def main() -> int:
    sequences, processes = int(os.environ.get("SEQUENCES", "20000")), int(os.environ.get("PROCESSES", "2"))
    rounds = [min(ROUND, sequences - begun) for begun in range(0, sequences, ROUND)]
    tried, happened = 0, Counter[str]()
    with ThreadPoolExecutor(processes) as pool:
        for count, (failed, counted) in zip(rounds, pool.map(_run, rounds), strict=True):
            if failed:
                pool.shutdown(cancel_futures=True)
                return failed
            tried += count
            happened += counted
            print(f"{tried} of {sequences} histories", flush=True)
    for name, times in sorted(happened.items()):
        print(f"{times:9,}  {name}")
    never = [name for name in counts.EXPECTED if happened and not happened[name]]
    if never:
        print(f"These never happened: {', '.join(never)}")
    return int(bool(never))


def _run(sequences: int) -> tuple[int, Counter[str]]:
    """Run this many histories of each kind; return the exit code and the counts."""
    seed = str(secrets.randbelow(2**32))
    tests = sys.argv[1:] or TESTS
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *tests]
    result = subprocess.run(
        [*command, f"--hypothesis-seed={seed}"],
        env={**os.environ, "SEQUENCES": str(sequences), "PROGRESS": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode:
        print(f"{result.stdout}\n{sequences} histories, --hypothesis-seed={seed}", flush=True)
    return result.returncode, counts.read(result.stdout)


if __name__ == "__main__":
    sys.exit(main())
