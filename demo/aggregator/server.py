"""Starting the aggregator: within this process, as the tests do, or as a program of its own (`__main__.py`)."""

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
    """A running aggregator; `url` is what LIFI_API_URL is to be."""

    url: str
    places: Places
    book: Book
    switches: Switches
    calls: Calls
    _server: BaseWSGIServer
    _executor: Executor

    def set(self, **changed: object) -> Positions:
        """Turn switches (see `switches.Positions`). Raises UnknownSwitch."""
        return self.switches.set(**changed)

    def reset(self) -> None:
        """Be honest again, and forget every swap and which questions were asked: nothing open is delivered later."""
        self._executor.forget()
        self.switches.reset()
        self.calls.forget()

    def taken(self, source_hash: str, patience: float = 20) -> Swap:
        """The swap that this source transaction pays for, once the executor has seen it. Raises TimeoutError."""
        return self.book.wait(lambda swap: swap.taken_by == source_hash, patience)

    def delivered(self, source_hash: str, patience: float = 20) -> Swap:
        """Wait until the swap is delivered or refunded; `delivery` holds the amount, recipient and transaction."""
        return self.book.wait(
            lambda swap: swap.taken_by == source_hash and swap.delivery is not None, patience
        )

    def stop(self) -> None:
        """Stop serving and delivering."""
        self.switches.reset()
        self._server.shutdown()
        self._executor.stop()


def prepare(places: Places, holder: str = anvil.WALLET_ADDRESS) -> None:
    """Puts the contracts and the stock on every chain; what is there is left. USDC and DAI have to be there before."""
    for place in places.all:
        if place.kind == EVM:
            contracts.deploy_local_router(place.url, holder, HOLDER_BALANCE)
        else:
            ledger.stock(place.url)


def start(places: Places, *, port: int = 0, pause: float = 0.05) -> Aggregator:
    """Starts the aggregator over prepared chains, on 127.0.0.1; ready on return.

    `pause`, in seconds, is how long the executor waits between two looks at the chains while a quote is open.
    """
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    book, switches, calls = Book(), Switches(), Calls()
    server = make_server("127.0.0.1", port, create_app(places, book, switches, calls), threaded=True)
    threading.Thread(target=server.serve_forever, name="aggregator", daemon=True).start()
    executor = Executor(places, book, switches, pause=pause)
    executor.start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    return Aggregator(url, places, book, switches, calls, server, executor)
