"""Try many random histories in several processes: `python -m tests.properties.run`, or `make properties`.

`SEQUENCES` is how many in all (20,000), `PROCESSES` in how many processes (2). A failure is printed with the seed that
finds it again.
"""

import os
import secrets
import subprocess
import sys
from pathlib import Path

TESTS = str(Path(__file__).parent)


def main() -> int:
    sequences, processes = int(os.environ.get("SEQUENCES", "20000")), int(os.environ.get("PROCESSES", "2"))
    share = -(-sequences // processes)
    running = [_start(share, f"{place + 1} of {processes}") for place in range(processes)]
    return max(process.wait() for process in running)


def _start(sequences: int, name: str) -> subprocess.Popen[bytes]:
    seed = str(secrets.randbelow(2**32))
    print(f"Process {name}: {sequences} histories, --hypothesis-seed={seed}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", TESTS]
    environment = {**os.environ, "SEQUENCES": str(sequences), "PROGRESS": name}
    return subprocess.Popen([*command, f"--hypothesis-seed={seed}"], env=environment)


if __name__ == "__main__":
    sys.exit(main())
