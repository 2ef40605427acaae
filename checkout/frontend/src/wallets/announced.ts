/** Detects this browser's Ethereum wallets: EIP-6963 announcements, or else `window.ethereum`. */

import { ethereumWallet, type Provider } from "./ethereum";
import { INJECTED, walletFace, type Wallet, type WalletsFound } from "./wallet";

const FALLBACK_AFTER_MS = 300;

export function discoverEthereumWallets(defaultName: string, onChange: WalletsFound): void {
  const wallets = new Map<string, Wallet>();
  let settled = false;

  window.addEventListener("eip6963:announceProvider", (event) => {
    const wallet = announced((event as CustomEvent<unknown>).detail);
    if (!wallet || wallets.has(wallet.id)) return;
    wallets.delete(INJECTED);
    wallets.set(wallet.id, wallet);
    onChange([...wallets.values()], settled);
  });
  window.dispatchEvent(new Event("eip6963:requestProvider"));

  setTimeout(() => {
    settled = true;
    const injected = (window as { ethereum?: unknown }).ethereum;
    if (wallets.size === 0 && isProvider(injected)) {
      wallets.set(INJECTED, ethereumWallet({ id: INJECTED, name: defaultName, icon: null }, injected));
    }
    onChange([...wallets.values()], settled);
  }, FALLBACK_AFTER_MS);
}

function announced(detail: unknown): Wallet | null {
  const { info, provider } = (detail ?? {}) as { info?: Record<string, unknown>; provider?: unknown };
  const face = info && walletFace(info.uuid, info.name, info.icon);
  return face && isProvider(provider) ? ethereumWallet(face, provider) : null;
}

function isProvider(value: unknown): value is Provider {
  return typeof value === "object" && value !== null && typeof (value as Provider).request === "function";
}
