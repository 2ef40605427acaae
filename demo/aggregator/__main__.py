"""Run the aggregator: `python -m demo.aggregator`, with the environment variables read below."""

import contextlib
import logging
import os
import threading

from demo.aggregator.places import local_places
from demo.aggregator.server import start
from demo.reading import Reader


def main() -> None:
    """Serve until stopped. The chains must be prepared first (`server.prepare`)."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s aggregator %(levelname)s %(message)s")
    reader = Reader()
    chain = reader.url("LOCAL_RPC_URL", "the address of the first chain's node")
    harbour = reader.url("HARBOUR_RPC_URL", "the address of the second chain's node")
    port = reader.number("AGGREGATOR_PORT", "a TCP port", most=65_535)
    reader.exit_if_wrong()
    places = local_places(chain, harbour, os.environ.get("LOCAL_SOLANA_RPC_URL"))
    running = start(places, port=port, pause=0.5)
    logging.info("The local aggregator answers at %s", running.url)
    threading.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
