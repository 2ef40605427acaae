"""Wallets that announce themselves (EIP-6963) with any name and icon."""

import json

from playwright.sync_api import Page

_ANNOUNCED = """([name, icon]) => {
  const provider = { request: () => new Promise(() => undefined), on() {}, removeListener() {} };
  const info = Object.freeze({ uuid: crypto.randomUUID(), name, icon, rdns: "com.example." + name.length });
  const announce = () => dispatchEvent(
    new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }),
  );
  addEventListener("eip6963:requestProvider", announce);
  announce();
}"""


def announce(page: Page, name: str, icon: str) -> None:
    """Have such a wallet in each page from now on."""
    page.add_init_script(f"({_ANNOUNCED})({json.dumps([name, icon])})")
