/** Detects Solana wallets, which register through the Wallet Standard. */

import type { Chain } from "../server/types";
import type { Wallet, WalletsFound } from "./wallet";

type SolanaPart = typeof import("../solana/main");

const SETTLED_AFTER_MS = 300;

/** The Solana networks of this deployment, and the URL of the script for Solana wallets. */
export interface SolanaSetup {
  chains: Chain[];
  script: string;
  /** Whether to load the script at once, without waiting for a wallet to register. */
  isNeeded: boolean;
}

/** Load the script for Solana when a wallet registers. `failed` is called if it can't be loaded. */
export function discoverSolanaWallets(setup: SolanaSetup, onChange: WalletsFound, failed: () => void): void {
  const registered = new Map<unknown, Wallet | null>();
  let part: SolanaPart | null = null;
  let loading: Promise<void> | null = null;
  let isTimeOver = false;

  const report = (): void => {
    for (const [registration, adapted] of registered) {
      if (part && !adapted) registered.set(registration, part.solanaWallet(registration, setup.chains));
    }
    const wallets = [...registered.values()].filter((wallet): wallet is Wallet => wallet !== null);
    // Without a registered wallet, the script isn't needed.
    onChange(wallets, isTimeOver && (part !== null || registered.size === 0));
  };
  const load = (): void => {
    // The file name may contain a digest, so the server provides it.
    loading ??= (import(setup.script) as Promise<SolanaPart>).then(
      (loaded) => {
        part = loaded;
        report();
      },
      () => failed(),
    );
  };
  const register = (...wallets: unknown[]): (() => void) => {
    const usable = wallets.filter(supportsSolana);
    for (const wallet of usable) registered.set(wallet, null);
    if (usable.length > 0) load();
    report();
    return () => {
      for (const wallet of usable) registered.delete(wallet);
      report();
    };
  };

  const api = Object.freeze({ register });
  window.addEventListener("wallet-standard:register-wallet", (event) => {
    const callback = (event as CustomEvent<unknown>).detail;
    if (typeof callback === "function") callback(api);
  });
  window.dispatchEvent(new CustomEvent("wallet-standard:app-ready", { detail: api }));
  if (setup.isNeeded) load();
  setTimeout(() => {
    isTimeOver = true;
    report();
  }, SETTLED_AFTER_MS);
}

function supportsSolana(wallet: unknown): boolean {
  const { chains } = (wallet ?? {}) as { chains?: unknown };
  return Array.isArray(chains) && chains.some((chain) => String(chain).startsWith("solana:"));
}
