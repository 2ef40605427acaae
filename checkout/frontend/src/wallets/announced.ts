/**
 * Detects this browser's Ethereum wallets: those that announce themselves (EIP-6963), and `window.ethereum` if that is
 * a different wallet.
 */

import { ethereumWallet, type Provider } from "./ethereum";
import { INJECTED, walletFace, type Wallet, type WalletsFound } from "./wallet";

const FALLBACK_AFTER_MS = 300;
/** Slow wallets add `window.ethereum` later. Most of them send no event. */
const LOOK_EVERY_MS = 1_000;
const LOOKS = 15;

interface Found {
  wallet: Wallet;
  provider: Provider;
}

export function discoverEthereumWallets(defaultName: string, onChange: WalletsFound): void {
  const announcedWallets = new Map<string, Found>();
  let injected: Found | null = null;
  let settled = false;

  const report = (): void => {
    const found = [...announcedWallets.values()];
    const other = injected && !found.some(({ provider }) => isSameWallet(provider, injected?.provider)) ? [injected] : [];
    onChange([...found, ...other].map(({ wallet }) => wallet), settled);
  };
  const look = (): void => {
    const { ethereum } = window as { ethereum?: unknown };
    if (!settled || !isProvider(ethereum) || ethereum === injected?.provider) return;
    injected = { wallet: ethereumWallet({ id: INJECTED, name: defaultName, icon: null }, ethereum), provider: ethereum };
    report();
  };

  window.addEventListener("eip6963:announceProvider", (event) => {
    const found = announced((event as CustomEvent<unknown>).detail);
    if (!found || announcedWallets.has(found.wallet.id)) return;
    announcedWallets.set(found.wallet.id, found);
    report();
  });
  window.addEventListener("ethereum#initialized", look);
  window.dispatchEvent(new Event("eip6963:requestProvider"));

  setTimeout(() => {
    settled = true;
    look();
    report();
    let looks = 0;
    const timer = setInterval(() => {
      look();
      if ((looks += 1) === LOOKS) clearInterval(timer);
    }, LOOK_EVERY_MS);
  }, FALLBACK_AFTER_MS);
}

function announced(detail: unknown): Found | null {
  const { info, provider } = (detail ?? {}) as { info?: Record<string, unknown>; provider?: unknown };
  const face = info && walletFace(info.uuid, info.name, info.icon);
  return face && isProvider(provider) ? { wallet: ethereumWallet(face, provider), provider } : null;
}

/**
 * Many wallets announce an object that isn't their `window.ethereum`. But both have the same flags, such as
 * `isMetaMask`.
 */
function isSameWallet(announced: Provider, injected: unknown): boolean {
  if (announced === injected) return true;
  const flags = flagsOf(injected);
  return flags !== "" && flags === flagsOf(announced);
}

function flagsOf(provider: unknown): string {
  const flags: string[] = [];
  // This loop also finds inherited flags.
  for (const name in provider as object) {
    if (/^is[A-Z]/.test(name) && (provider as Record<string, unknown>)[name] === true) flags.push(name);
  }
  return flags.sort().join();
}

function isProvider(value: unknown): value is Provider {
  return typeof value === "object" && value !== null && typeof (value as Provider).request === "function";
}
