"""Relay what is due, as a worker does, from when a file exists: `python -m tests.support.payments.relayer READY GO`.

It makes the file READY once it has started, so that a test signs nothing that expires while it starts.
"""

import sys
import time
from pathlib import Path

import django


def main() -> None:
    django.setup()
    from tests.verifying import relay_due  # needs the settings

    ready, go = map(Path, sys.argv[1:])
    ready.touch()
    while not go.exists():
        time.sleep(0.02)
    while True:
        relay_due()
        time.sleep(0.05)


if __name__ == "__main__":
    main()
