"""Run the rate sources: `python -m demo.rates`, with the environment variables read below."""

import contextlib
import logging
import threading
from functools import partial

from werkzeug.serving import make_server

from demo.contracts.deploy import ChainRefusal
from demo.rates.app import create_app
from demo.rates.feeds import deploy_feeds, write_feeds
from demo.rates.market import Market
from demo.reading import Reader

# According to the catalogue, feeds are updated at least once a day. This interval is much shorter.
REFRESHED_EVERY_SECONDS = 3600.0


def main() -> None:
    """Put the feeds on the chain, then serve until stopped."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s rates %(levelname)s %(message)s")
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    reader = Reader()
    chain = reader.url("LOCAL_RPC_URL", "the address of the first chain's node")
    port = reader.number("RATES_PORT", "a TCP port", most=65_535)
    reader.exit_if_wrong()
    market = Market()
    deploy_feeds(chain)
    write_feeds(chain, market())
    threading.Thread(target=_refresh, args=(chain, market), name="feeds", daemon=True).start()
    server = make_server("127.0.0.1", port, create_app(market, partial(write_feeds, chain)), threaded=True)
    logging.info("The rate sources answer at http://127.0.0.1:%d", port)
    server.serve_forever()


def _refresh(chain: str, market: Market) -> None:
    pause = threading.Event()
    while not pause.wait(REFRESHED_EVERY_SECONDS):
        try:
            write_feeds(chain, market())
        except (ChainRefusal, OSError) as error:
            logging.warning("The feeds could not be written: %s", error)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
