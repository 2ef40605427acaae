"""Try many random histories in several processes: `python -m tests.integration.properties.run`, or `make properties`.

`SEQUENCES` is how many in all of each kind (20,000), `PROCESSES` in how many processes at once (2). A failure is
printed with the seed that finds it again.
"""

import os
import secrets
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = (str(Path(__file__).parent), str(Path(__file__).parents[1] / "payments" / "test_against_a_model.py"))
ROUND = 500
"""Histories per database. Each is rolled back within one long transaction, so that PostgreSQL can't vacuum what they
leave: after some thousands of them, most of the time goes into reading past dead rows."""


def main() -> int:
    sequences, processes = int(os.environ.get("SEQUENCES", "20000")), int(os.environ.get("PROCESSES", "2"))
    rounds = [min(ROUND, sequences - begun) for begun in range(0, sequences, ROUND)]
    tried = 0
    with ThreadPoolExecutor(processes) as pool:
        for count, failed in zip(rounds, pool.map(_run, rounds), strict=True):
            if failed:
                pool.shutdown(cancel_futures=True)
                return failed
            tried += count
            print(f"{tried} of {sequences} histories", flush=True)
    return 0


def _run(sequences: int) -> int:
    seed = str(secrets.randbelow(2**32))
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *TESTS]
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
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
