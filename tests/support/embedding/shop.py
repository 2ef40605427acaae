"""The web pages of a shop, on their own origin."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.loopback import Exchange, scripted

# As strict as a careful shop's policy. Our script needs only its own URL and the frame.
POLICY = (
    "default-src 'none'; script-src 'nonce-shop' {checkout}; frame-src {checkout}; style-src 'nonce-shop'; "
    "img-src 'self' data:; connect-src 'none'; base-uri 'none'"
)
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Alice's Bakery</title><link rel="icon" href="data:,">
<style nonce="shop">
  body {{ margin: 0 auto; max-width: 60rem; padding: 2rem; background: #fbf7ef; font: 1.25rem/1.6 Georgia, serif; }}
  a, iframe {{ color: #a33; }} button {{ font: inherit; }} .long {{ height: 150vh; }}
</style>
<script nonce="shop" src="{checkout}/quittance.js"></script></head>
<body><main><h1>Two loaves of rye</h1>
<p><a id="terms" href="#terms">Our terms</a></p>
<p><a id="pay" href="{payment_url}">Pay with crypto</a></p>
<div id="here"></div>
<p class="long">We bake at night.</p></main>
<script nonce="shop">
  window.events = [];
  const note = (name) => (progress) => events.push([name, progress]);
  window.options = {{
    paymentUrl: document.getElementById("pay").href,
    onStatus: note("status"), onCompleted: note("completed"), onClosed: note("closed"),
  }};
  document.getElementById("pay").addEventListener("click", (event) => {{
    event.preventDefault();
    window.opened = Quittance.open(options);
  }});
</script></body></html>"""


class Shop:
    """Serves pages by path."""

    def __init__(self, port: int) -> None:
        self.origin = f"http://127.0.0.1:{port}"
        self.pages: dict[str, tuple[str, str]] = {}
        self.referrers: dict[str, str | None] = {}

    def put(self, path: str, html: str, policy: str = "") -> str:
        """Serve `html` at `path`; return its URL."""
        self.pages[path] = (html, policy)
        return self.origin + path

    def sell(self, payment_url: str) -> str:
        """Serve a page that offers this payment; return its URL."""
        checkout = payment_url.split("/pay/")[0]
        page = PAGE.format(checkout=checkout, payment_url=payment_url)
        return self.put("/rye", page, POLICY.format(checkout=checkout))


@contextmanager
def open_shop() -> Iterator[Shop]:
    """Serve a shop on a free port."""

    def answer(exchange: Exchange) -> None:
        shop.referrers[exchange.path] = exchange.headers.get("referer")
        html, policy = shop.pages.get(exchange.path, ("", ""))
        headers = {"Content_Security_Policy": policy} if policy else {}
        status = 200 if html else 404
        exchange.send(status, html.encode(), Content_Type="text/html; charset=utf-8", **headers)

    with scripted(answer) as server:
        shop = Shop(int(server.url.rpartition(":")[2]))
        yield shop
