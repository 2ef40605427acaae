"""Run the aggregator: `python -m demo.aggregator`, with the environment variables read below."""

import contextlib
import logging
import os
import sys
import threading

from demo.aggregator.places import local_places
from demo.aggregator.server import start


def main() -> None:
    """Serve until told to stop. The chains have to be prepared (`server.prepare`)."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s aggregator %(levelname)s %(message)s")
    places = local_places(
        _env("LOCAL_RPC_URL"), _env("HARBOUR_RPC_URL"), os.environ.get("LOCAL_SOLANA_RPC_URL")
    )
    running = start(places, port=int(_env("AGGREGATOR_PORT")), pause=0.5)
    logging.info("The local aggregator answers at %s", running.url)
    threading.Event().wait()


def _env(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        sys.exit(f"{name} is not set; the aggregator needs it.")
    return value


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
