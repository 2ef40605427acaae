"""Start the aggregator. Tests use this module to start it in the test process. `make run` starts `__main__.py`."""

import logging
import threading
from dataclasses import dataclass

from werkzeug.serving import BaseWSGIServer, make_server

from demo.aggregator import contracts, ledger
from demo.aggregator.app import Calls, create_app
from demo.aggregator.book import Book, Swap
from demo.aggregator.executor import Executor
from demo.aggregator.places import EVM, Places
from demo.aggregator.switches import Positions, Switches
from demo.contracts.deploy import HOLDER_BALANCE
from demo.services import anvil


@dataclass(frozen=True)
class Aggregator:
    """A running aggregator. Set LIFI_API_URL to its `url`."""

    url: str
    places: Places
    book: Book
    switches: Switches
    calls: Calls
    _server: BaseWSGIServer
    _executor: Executor

    def set(self, **changed: object) -> Positions:
        """Set switches (see `switches.Positions`). Raises UnknownSwitch."""
        return self.switches.set(**changed)

    def reset(self) -> None:
        """Reset all switches, and delete all swaps and recorded calls. Open swaps are not delivered."""
        self._executor.forget()
        self.switches.reset()
        self.calls.forget()

    def taken(self, source_hash: str, patience: float = 20) -> Swap:
        """Wait until the executor has seen the source transaction. Return the swap. Raises TimeoutError."""
        return self.book.wait(lambda swap: swap.taken_by == source_hash, patience)

    def delivered(self, source_hash: str, patience: float = 20) -> Swap:
        """Wait until the swap is delivered or refunded. `delivery` has the amount, recipient and transaction."""
        return self.book.wait(
            lambda swap: swap.taken_by == source_hash and swap.delivery is not None, patience
        )

    def stop(self) -> None:
        self.switches.reset()
        self._server.shutdown()
        self._executor.stop()


def prepare(places: Places, holder: str = anvil.WALLET_ADDRESS) -> None:
    """On each chain, deploy the aggregator's contracts and fund its stock of tokens, if that was not done before.

    USDC and DAI must exist.
    """
    for place in places.all:
        if place.kind == EVM:
            contracts.deploy_local_router(place.url, holder, HOLDER_BALANCE)
        else:
            ledger.stock(place.url)


def start(places: Places, *, port: int = 0, pause: float = 0.05) -> Aggregator:
    """Start the aggregator on 127.0.0.1 for prepared chains, and wait until it is ready.

    `pause` is the polling interval of the executor in seconds, while a quote is open.
    """
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    book, switches, calls = Book(), Switches(), Calls()
    server = make_server("127.0.0.1", port, create_app(places, book, switches, calls), threaded=True)
    threading.Thread(target=server.serve_forever, name="aggregator", daemon=True).start()
    executor = Executor(places, book, switches, pause=pause)
    executor.start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    return Aggregator(url, places, book, switches, calls, server, executor)
