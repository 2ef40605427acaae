"""APIs for the last trades, in the formats of Coinbase Exchange and Kraken, and an API for the switches."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from flask import Flask, Response, jsonify, request

from demo.contracts.deploy import ChainRefusal
from demo.rates.market import FAULTS, FROZEN_FOR, PRICES, SOURCES, Market, Positions, UnknownSwitch

# Coinbase has one order book for dollars and USDC, so there is no USDC-USD. There are also no pairs such as EUR-USD.
COINBASE = {f"{code}-USD" for code in ("BTC", "DAI", "ETH", "SOL", "USDT")} | {
    f"BTC-{code}" for code in ("EUR", "GBP")
}
KRAKEN = {f"{code}USD" for code in ("DAI", "ETH", "EUR", "GBP", "SOL", "USDC", "USDT", "XBT")} | {"USDJPY"}
_KRAKENS_CODES = {"XBT": "BTC"}


def create_app(market: Market, write: Callable[[Positions], None]) -> Flask:
    """Create the application.

    After a change of the switches, the application calls `write` to update the price feeds on the chain.
    """
    app = Flask(__name__)

    @app.get("/products/<product>/ticker")
    def coinbase(product: str) -> tuple[Response, int]:
        positions = market()
        if product not in COINBASE:
            return jsonify(message="NotFound"), 404
        if positions.coinbase == "down":
            return jsonify(message="Service unavailable"), 503
        price = _crossed(positions, "coinbase", *product.split("-"))
        now = datetime.now(UTC)
        time = now - FROZEN_FOR if positions.coinbase == "frozen" else now
        ticker = {"price": price, "time": time.isoformat().replace("+00:00", "Z"), "size": "0.5"}
        if positions.coinbase == "garbage":
            del ticker["price"]
        return jsonify(ticker), 200

    @app.get("/0/public/Trades")
    def kraken() -> tuple[Response, int]:
        positions = market()
        pair = request.args.get("pair", "")
        if positions.kraken == "down":
            return jsonify(error=["EService:Unavailable"]), 503
        if pair not in KRAKEN:
            return jsonify(error=["EQuery:Unknown asset pair"]), 200
        base, quote = (_KRAKENS_CODES.get(code, code) for code in (pair[:-3], pair[-3:]))
        price = _crossed(positions, "kraken", base, quote)
        now = datetime.now(UTC)
        time = now - FROZEN_FOR if positions.kraken == "frozen" else now
        trade = [price, "0.1", time.timestamp(), "b", "l", "", 61044952]
        if positions.kraken == "garbage":
            del trade[0]
        last = str(int(time.timestamp() * 10**9))
        return jsonify(error=[], result={pair: [trade], "last": last}), 200

    @app.get("/switches")
    def show() -> Response:
        return jsonify(now=asdict(market()), known={**dict.fromkeys(SOURCES, FAULTS), "prices": PRICES})

    @app.post("/switches")
    def turn() -> tuple[Response, int]:
        body = request.get_json(silent=True)
        try:
            if not isinstance(body, dict):
                raise UnknownSwitch("The body should be an object of switches and their positions.")
            return _written(market.set(body))
        except UnknownSwitch as error:
            return jsonify(message=str(error)), 400

    @app.delete("/switches")
    def reset() -> tuple[Response, int]:
        return _written(market.reset())

    def _written(positions: Positions) -> tuple[Response, int]:
        try:
            write(positions)
        except ChainRefusal as error:
            return jsonify(message=f"The feeds could not be written: {error}"), 424
        return jsonify(asdict(positions)), 200

    return app


def _crossed(positions: Positions, source: str, base: str, quote: str) -> str:
    """Return the base's price in units of the quote, with 12 significant digits."""

    def in_usd(code: str) -> Any:
        return Decimal(1) if code == "USD" else positions.price(source, code)

    worth, unit = in_usd(base), in_usd(quote) or Decimal(1)
    return f"{Decimal(f'{worth / unit:.12g}'):f}"
