"""Measure the checkout's largest contentful paint on two slow networks, and its bytes. Compare it with a bare page.

`make bench`, or `python -m demo.services python -m bench.checkout_paint [LOADS]`.

The product runs as in production: gunicorn, with collected and compressed static files. DevTools slows down the CPU (4
times) and the network. The first network is slow 4G as in Lighthouse: 562.5 ms for each request, 1.44 Mbit/s down. The
second one is weak: 400 ms, 400 kbit/s. Each load begins with an empty cache. The bare page (the floor) has two lines,
and no style or script. It is measured in the same run under the same conditions. The medians and their ratio are
printed.

Two pages are measured: for a payment on an EVM chain, and for one on Solana. For Solana wallets, the page loads another
part of its script after the first paint. The browser has no wallet. So the largest element is painted last: it is a
text that the script shows after it has waited for wallets. The amount is in the first response, and is painted first.
The goal is the limit for "good" in Core Web Vitals.
"""

import http.server
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

_REPOSITORY = Path(__file__).resolve().parent.parent
_PRODUCT = ("config", "chains", "merchants", "webhooks", "payments", "checkout", "templates")
_SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "DEBUG": "false",
    "ENVIRONMENT": "staging",
    "BASE_URL": "http://localhost",
    "CHECKOUT_URL": "http://localhost",
    "ALLOWED_HOSTS": "127.0.0.1",
    "ALLOW_HTTP_URLS": "true",
    "ROUTING_PROVIDERS": "off",
    "RATE_LIMIT_PUBLIC": "off",
    "EMAIL_URL": "memorymail://",
    "LOG_LEVEL": "ERROR",
}
_MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
LOADS = 7
PROMISED_BYTES = {"EVM": 55_000, "Solana": 55_000}
_PHONE = {"width": 390, "height": 844}
_SLOWER_CPU = 4
_BARE = b"<!doctype html><html lang=en><meta name=viewport content='width=device-width'><title>Bare</title><h1>Pay</h1>"
_LARGEST_PAINT = """() => new Promise((resolve) => new PerformanceObserver((list) => {
  const last = list.getEntries().at(-1);
  resolve([last.startTime, last.element ? last.element.outerHTML.slice(0, 80) : ""]);
}).observe({ type: "largest-contentful-paint", buffered: true }))"""

_FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
# JavaScript that returns true when the page's script has finished its search for wallets.
_SETTLED = "() => !document.querySelector('.skeleton__wallet')"


@dataclass(frozen=True)
class Network:
    """A slow network, and the goal for the largest paint on it."""

    name: str
    latency_ms: float
    down_kbit: float
    up_kbit: float
    promised_ms: int

    @property
    def conditions(self) -> dict[str, Any]:
        """Return the conditions for DevTools. Throughputs are in bytes per second."""
        return {
            "offline": False,
            "latency": self.latency_ms,
            "downloadThroughput": self.down_kbit * 1000 / 8,
            "uploadThroughput": self.up_kbit * 1000 / 8,
        }


NETWORKS = (
    Network("slow 4G", 562.5, 1474.56 * 1.024, 675 * 1.024, 2500),
    Network("400 kbit/s, 400 ms", 400, 400, 400, 2500),
)


@dataclass(frozen=True)
class Load:
    """One visit: the times of the first and the largest paint, the largest element, and the bytes over the network."""

    first_ms: float
    paint_ms: float
    element: str
    sizes: dict[str, int]


def main(loads: int) -> None:
    from playwright.sync_api import sync_playwright

    from tests.browsing import QUIET

    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}", flush=True)
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with _product() as origin, _bare_page() as bare, sync_playwright() as started:
        pages = {family: f"{origin}/pay/{shortcode}" for family, shortcode in _shortcodes().items()}
        browser = started.chromium.launch(executable_path=path, args=list(QUIET))
        for address in pages.values():
            _visit(browser, address, NETWORKS[0])  # a warm-up, not measured
        for network in NETWORKS:
            for family, address in pages.items():
                pairs = [
                    (_visit(browser, bare, network), _visit(browser, address, network)) for _ in range(loads)
                ]
                _report(network, family, pairs)
        browser.close()


def _report(network: Network, family: str, pairs: list[tuple[Load, Load]]) -> None:
    floor, paint = (statistics.median(pair[place].paint_ms for pair in pairs) for place in (0, 1))
    first = statistics.median(pair[1].first_ms for pair in pairs)
    last = pairs[-1][1]
    size, promised = sum(last.sizes.values()), PROMISED_BYTES[family]
    print(
        f"{network.name}, {family}: largest paint {paint:.0f} ms, median of {len(pairs)}, of {last.element}"
    )
    print(f"  promised: {network.promised_ms} ms; bare page: {floor:.0f} ms; ratio {paint / floor:.2f}")
    print(f"  first paint, with the amount: {first:.0f} ms")
    print(f"  over the network: {size / 1000:.1f} kB (promised: {promised / 1000:.0f}), {last.sizes}")
    if paint > network.promised_ms or size > promised:
        print("  That is more than was promised.")


def _visit(browser: Any, address: str, network: Network) -> Load:
    """Load the address on a slow phone without a cache."""
    context = browser.new_context(viewport=_PHONE, device_scale_factor=2)
    try:
        page = context.new_page()
        devtools = context.new_cdp_session(page)
        kinds: dict[str, str] = {}
        sizes: dict[str, int] = {}

        def finished(event: dict[str, Any]) -> None:
            kind = kinds.get(event["requestId"], "other")
            sizes[kind] = sizes.get(kind, 0) + int(event["encodedDataLength"])

        devtools.on(
            "Network.requestWillBeSent",
            lambda event: kinds.update({event["requestId"]: event["type"].lower()}),
        )
        devtools.on("Network.loadingFinished", finished)
        devtools.send("Network.enable")
        devtools.send("Network.emulateNetworkConditions", network.conditions)
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": _SLOWER_CPU})
        page.goto(address, wait_until="networkidle")
        page.wait_for_function(_SETTLED)
        first_ms = page.evaluate(_FIRST_PAINT)
        paint_ms, element = page.evaluate(_LARGEST_PAINT)
        return Load(first_ms, paint_ms, element, sizes)
    finally:
        context.close()


@contextmanager
def _product() -> Iterator[str]:
    """Run the product as in production, in a copy. The static files are collected there, and not in the repository."""
    from demo.services.process import free_port, spawn

    with tempfile.TemporaryDirectory(prefix="quittance-paint-") as folder:
        home = Path(folder)
        ignored = shutil.ignore_patterns("node_modules", "__pycache__")
        for name in _PRODUCT:
            shutil.copytree(_REPOSITORY / name, home / name, ignore=ignored)
        shutil.copy(_REPOSITORY / "manage.py", home)
        collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
        subprocess.run(collect, cwd=home, check=True)
        port = free_port()
        command = [
            sys.executable,
            "-m",
            "gunicorn",
            "--config",
            "config/gunicorn.py",
            "--bind",
            f"127.0.0.1:{port}",
        ]
        environment = {**os.environ, "PYTHONPATH": str(home)}
        child = spawn("gunicorn", command, home / "gunicorn.log", env=environment, cwd=home)
        origin = f"http://127.0.0.1:{port}"
        try:
            child.await_ready(lambda: _answers(origin), 60, "Its log says why:")
            yield origin
        finally:
            child.stop()


@contextmanager
def _bare_page() -> Iterator[str]:
    class Bare(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(_BARE)))
            self.end_headers()
            self.wfile.write(_BARE)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bare) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def _answers(origin: str) -> bool:
    try:
        return requests.get(origin, timeout=5).ok
    except requests.RequestException:
        return False


def _shortcodes() -> dict[str, str]:
    """Return the codes of payment requests by the family of their chain. The merchant has its own colours."""
    from chains.models import Chain, Token
    from merchants.models import Merchant
    from tests.support.payments.world import make_request

    chain = Chain.objects.create(
        id=1, name="Ethereum", chain_type="evm", rpc_urls=["http://127.0.0.1:9"], native_symbol="ETH"
    )
    usdc = Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address="0x" + "c1" * 20
    )
    solana = Chain.objects.create(
        id=900_000_000_001,
        name="Solana",
        chain_type="solana",
        rpc_urls=["http://127.0.0.1:9"],
        native_symbol="SOL",
    )
    mint = Token.objects.create(
        chain=solana, symbol="USDC", name="USD Coin", decimals=6, contract_address=_MINT
    )
    merchant = Merchant.objects.create(
        name="Harbour Roasters", accent_colour="#8a3b12", background_colour="#f6f1ea"
    )
    paid = {"EVM": (usdc, "0x" + "11" * 20), "Solana": (mint, "11111111111111111111111111111112")}
    text = "Night Ferry, 1 kg, whole beans"
    return {
        family: make_request(merchant, token, "24.90", recipient, description=text).shortcode
        for family, (token, recipient) in paid.items()
    }


if __name__ == "__main__":
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else LOADS)
