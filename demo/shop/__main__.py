"""Run the shop: `python -m demo.shop`, with the environment variables read below."""

import logging
import os
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from werkzeug.serving import make_server

from demo.shop.app import WEBHOOK_PATH, create_app
from demo.shop.orders import Orders
from demo.shop.quittance import Quittance, QuittanceError

PATIENCE_SECONDS = 60

Answer = TypeVar("Answer")


def main() -> None:
    """Register the shop's webhook, then serve until told to stop."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s shop %(levelname)s %(message)s")
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    url = _env("SHOP_URL").rstrip("/")
    quittance = Quittance(_env("QUITTANCE_API_URL"), _env("QUITTANCE_API_KEY"))
    address = os.environ.get("SHOP_TOKEN_ADDRESS", "")
    token = _once_up(lambda: quittance.find_token(int(_env("SHOP_CHAIN_ID")), address))
    kiosk = os.environ.get("SHOP_KIOSK_CHAIN_ID")
    quittance.set_webhook_url(url + WEBHOOK_PATH)
    app = create_app(
        quittance=quittance,
        orders=Orders(_env("SHOP_DATABASE")),
        token=token,
        kiosk_token=quittance.find_token(int(kiosk), address) if kiosk else None,
        recipient=_env("RECIPIENT_ADDRESS"),
        webhook_secret=quittance.get_webhook_secret(),
        url=url,
    )
    server = make_server("127.0.0.1", int(_env("SHOP_PORT")), app, threaded=True)
    logging.info("Harbour Coffee is open at %s", url)
    server.serve_forever()


def _env(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        sys.exit(f"{name} is not set; the shop needs it.")
    return value


def _once_up(ask: Callable[[], Answer]) -> Answer:
    """Ask again each half second while the API is still starting. Raises QuittanceError after a minute."""
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
