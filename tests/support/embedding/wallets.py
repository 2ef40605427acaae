"""Wallets that announce themselves (EIP-6963) with any name and icon."""

import json

from playwright.sync_api import Page

from tests.chain import LocalChain

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
    """Add such a wallet to each page that is opened from now on."""
    page.add_init_script(f"({_ANNOUNCED})({json.dumps([name, icon])})")


_SIGNING = """([account, chainId]) => {
  const answers = {
    eth_requestAccounts: async () => [account],
    eth_accounts: async () => [account],
    eth_chainId: async () => chainId,
    eth_getTransactionReceipt: async () => null,
    eth_sendTransaction: async ([transaction]) => {
      await new Promise((confirm) => (window.confirmInWallet = confirm));
      return window.sendOnChain(transaction);
    },
  };
  const request = ({ method, params }) => (answers[method] ?? (() => Promise.reject({ code: 4200 })))(params);
  const info = { uuid: crypto.randomUUID(), name: "Ledger Book", icon: "", rdns: "com.example.book" };
  const detail = Object.freeze({ info, provider: { request, on() {}, removeListener() {} } });
  const announce = () => dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
  addEventListener("eip6963:requestProvider", announce);
  announce();
}"""


def give_wallet(page: Page, chain: LocalChain) -> None:
    """Add a wallet to each page that is opened from now on.

    It sends on the real chain after `confirmInWallet` is called.
    """
    page.expose_function("sendOnChain", lambda transaction: chain.send(transaction))
    page.add_init_script(f"({_SIGNING})({json.dumps([chain.payer, hex(chain.chain_id)])})")
