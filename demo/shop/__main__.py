"""Run the shop: `python -m demo.shop`, with the environment variables read below."""

import logging
import os
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from werkzeug.serving import make_server

from demo.reading import Reader
from demo.shop.app import WEBHOOK_PATH, create_app
from demo.shop.orders import Orders
from demo.shop.quittance import Quittance, QuittanceError

PATIENCE_SECONDS = 60

Answer = TypeVar("Answer")


def main() -> None:
    """Register the shop's webhook, then serve until stopped."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s shop %(levelname)s %(message)s")
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    reader = Reader()
    url = reader.url("SHOP_URL", "the address of the shop").rstrip("/")
    api_url = reader.url("QUITTANCE_API_URL", "the address of the service")
    api_key = reader.text("QUITTANCE_API_KEY", "an API key of the service")
    chain_id = reader.number("SHOP_CHAIN_ID", "the id of the chain to be paid on")
    kiosk_set = bool(os.environ.get("SHOP_KIOSK_CHAIN_ID"))
    kiosk = reader.number("SHOP_KIOSK_CHAIN_ID", "the id of a chain") if kiosk_set else None
    database = reader.text("SHOP_DATABASE", "the path of a file for orders")
    recipient = reader.text("RECIPIENT_ADDRESS", "the address to be paid to")
    port = reader.number("SHOP_PORT", "a TCP port", most=65_535)
    reader.exit_if_wrong()
    quittance = Quittance(api_url, api_key)
    address = os.environ.get("SHOP_TOKEN_ADDRESS", "")
    token = _once_up(lambda: quittance.find_token(chain_id, address))
    quittance.set_webhook_url(url + WEBHOOK_PATH)
    app = create_app(
        quittance=quittance,
        orders=Orders(database),
        token=token,
        kiosk_token=quittance.find_token(kiosk, address) if kiosk else None,
        recipient=recipient,
        webhook_secret=quittance.get_webhook_secret(),
        url=url,
    )
    server = make_server("127.0.0.1", port, app, threaded=True)
    logging.info("Harbour Coffee is open at %s", url)
    server.serve_forever()


def _once_up(ask: Callable[[], Answer]) -> Answer:
    """Retry every half second, because the API may still be starting. Raises QuittanceError after a minute."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return ask()
        except QuittanceError as error:
            if error.code != "unreachable" or time.monotonic() > deadline:
                raise
            time.sleep(0.5)


if __name__ == "__main__":
    try:
        main()
    except QuittanceError as error:
        sys.exit(f"The shop could not start: {error}")
    except KeyboardInterrupt:
        pass
