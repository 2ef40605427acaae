"""The aggregator's web application: LI.FI's API under `/v1`, and the switches (see `switches.py`)."""

import threading
import uuid
from dataclasses import asdict, dataclass
from typing import Any

import requests
from flask import Flask, Response, jsonify, request

from demo.aggregator import answers, faults, quoting
from demo.aggregator.book import Book
from demo.aggregator.faults import Failure
from demo.aggregator.places import EVM, Place, Places
from demo.aggregator.switches import DELIVERIES, QUOTES, STATUSES, Positions, Switches, UnknownSwitch
from demo.contracts.deploy import ChainRefusal, rpc
from demo.solana.ledger import LedgerRefusal

RATE_LIMIT = 100
RATE_WINDOW = 60


@dataclass(frozen=True)
class Call:
    """A recorded call: its path, parameters, and headers in lower case."""

    path: str
    arguments: dict[str, str]
    headers: dict[str, str]


class Calls:
    """The recorded calls since the last reset."""

    def __init__(self) -> None:
        self._made: list[Call] = []
        self._changed = threading.Condition()

    @property
    def made(self) -> list[Call]:
        """All calls in order."""
        with self._changed:
            return list(self._made)

    def add(self, call: Call) -> None:
        with self._changed:
            self._made.append(call)
            self._changed.notify_all()

    def to(self, path: str) -> list[Call]:
        """The calls to one path, such as `/v1/status`."""
        with self._changed:
            return [call for call in self._made if call.path == path]

    def wait_for(self, path: str, count: int, patience: float = 20) -> None:
        """Wait until a path was called this many times. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._count(path) >= count, patience):
                raise TimeoutError(f"{path} was asked {self._count(path)} times within {patience:g} s.")

    def forget(self) -> None:
        with self._changed:
            self._made.clear()

    def _count(self, path: str) -> int:
        return sum(call.path == path for call in self._made)


def create_app(places: Places, book: Book, switches: Switches, calls: Calls) -> Flask:
    """Create the aggregator's web application."""
    app = Flask(__name__)

    @app.before_request
    def keep_call() -> None:
        headers = {name.lower(): value for name, value in request.headers.items()}
        calls.add(Call(request.path, request.args.to_dict(), headers))

    @app.after_request
    def put_headers(response: Response) -> Response:
        if request.path.startswith("/v1/"):
            response.headers["x-lifi-requestid"] = str(uuid.uuid4())
            response.headers.setdefault("ratelimit-limit", str(RATE_LIMIT))
            response.headers.setdefault("ratelimit-remaining", str(RATE_LIMIT - 1))
            response.headers.setdefault("ratelimit-reset", str(RATE_WINDOW))
        return response

    @app.errorhandler(Failure)
    def fail(failure: Failure) -> Response:
        return _json(failure.body, failure.http_status, failure.headers)

    @app.errorhandler(quoting.Invalid)
    def refuse(error: quoting.Invalid) -> Response:
        return fail(faults.invalid(str(error)))

    @app.errorhandler(requests.RequestException)
    @app.errorhandler(ChainRefusal)
    @app.errorhandler(LedgerRefusal)
    def chain_is_down(_: Exception) -> Response:
        return fail(Failure(424, 1012, "A node did not answer"))

    @app.get("/v1/chains")
    def chains() -> Response:
        found = places.of_kinds(_kinds())
        return _json({"chains": [answers.chain(place) for place in found]})

    @app.get("/v1/tokens")
    def tokens() -> Response:
        asked = [name for name in request.args.get("chains", "").split(",") if name]
        found = [places.find(name) for name in asked] if asked else places.of_kinds(_kinds())
        if None in found:
            raise quoting.Invalid("chains must be supported chains")
        listed = {str(place.id): [answers.token(token) for token in place.tokens] for place in found if place}
        return _json({"tokens": listed})

    @app.get("/v1/token")
    def token() -> Response:
        place = places.find(request.args.get("chain", ""))
        if place is None:
            raise quoting.Invalid("chain must be one of the supported chains")
        found = place.token(request.args.get("token", ""))
        if found is None:
            raise Failure(404, 1003, f"Could not find token on chain {place.id}")
        return _json(answers.token(found))

    @app.get("/v1/quote")
    def quote_by_input() -> Response:
        return quote(by_output=False)

    @app.get("/v1/quote/toAmount")
    def quote_by_output() -> Response:
        return quote(by_output=True)

    def quote(*, by_output: bool) -> Response:
        positions = switches.for_quote()
        _cause_fault(positions.quote, positions)
        question = quoting.read_question(request.args, places, by_output=by_output)
        try:
            swap = quoting.quote(question, positions)
        except quoting.NoQuote as error:
            raise faults.no_quote(error.code, error.tool) from error
        book.add(swap)
        answer = answers.step(swap, places, question.slippage, _gas_price(question.source))
        return _json(faults.crooked_quote(answer, question, positions))

    @app.get("/v1/status")
    def status() -> Response:
        positions = switches()
        _cause_fault(positions.status, positions)
        swap = book.by_hash(request.args.get("txHash", ""))
        answer = faults.faulty_status(swap, request.args.get("txHash", ""), book, places, positions)
        if "lifiExplorerLink" in answer:
            answer["lifiExplorerLink"] = request.host_url + answer["lifiExplorerLink"]
        return _json(answer)

    @app.get("/tx/<hash>")
    def explore(hash: str) -> Response:
        swap = book.by_hash(hash)
        if swap is None or swap.taken_by is None:
            return Response("The aggregator knows of no such swap.\n", 404, content_type="text/plain")
        return Response(answers.in_words(swap, places), content_type="text/plain; charset=utf-8")

    def _cause_fault(fault: str, positions: Positions) -> None:
        if fault == "hang":
            switches.hang(positions.hang_seconds)
        failure = faults.failure(fault, positions)
        if failure:
            raise failure

    @app.get("/switches")
    def show_switches() -> Response:
        known = {"quote": QUOTES, "status": STATUSES, "delivery": DELIVERIES}
        return _json({"now": asdict(switches()), "known": known})

    @app.post("/switches")
    def turn_switches() -> Response:
        body = request.get_json(silent=True)
        try:
            if not isinstance(body, dict):
                raise UnknownSwitch("The body should be an object of switches and their positions.")
            return _json(asdict(switches.set(**body)))
        except UnknownSwitch as error:
            return _json({"message": str(error)}, 400)

    @app.delete("/switches")
    def reset_switches() -> Response:
        switches.reset()
        return _json(asdict(switches()))

    return app


def _kinds() -> list[str]:
    """Return the requested kinds of chains. The default is only EVM, as in LI.FI's API."""
    return [kind for kind in request.args.get("chainTypes", EVM).split(",") if kind]


def _gas_price(place: Place) -> int:
    return int(rpc(place.url, "eth_gasPrice"), 16) if place.kind == EVM else 1


def _json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response. Bytes are sent unchanged."""
    response = Response(body, mimetype="application/json") if isinstance(body, bytes) else jsonify(body)
    response.status_code = status
    response.headers.update(headers or {})
    return response
