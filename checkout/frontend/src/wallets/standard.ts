/** Wallets that register by Wallet Standard, of which those that speak Solana matter here. */

import type { Chain } from "../server/types";
import type { Wallet, WalletsFound } from "./wallet";

type SolanaPart = typeof import("../solana/main");

const SETTLED_AFTER_MS = 300;

/** What is needed to turn to Solana wallets: its networks, and where the script is that speaks to them. */
export interface SolanaSetup {
  chains: Chain[];
  script: string;
  /** Whether the script is wanted even before a wallet has come. */
  isNeeded: boolean;
}

/** Loads the script for Solana once such a wallet is there. `failed` is called when it can't be loaded. */
export function discoverSolanaWallets(setup: SolanaSetup, onChange: WalletsFound, failed: () => void): void {
  const registered = new Map<unknown, Wallet | null>();
  let part: SolanaPart | null = null;
  let loading: Promise<void> | null = null;
  let isTimeOver = false;

  const tell = (): void => {
    for (const [wallet, known] of registered) {
      if (part && !known) registered.set(wallet, part.solanaWallet(wallet, setup.chains));
    }
    const found = [...registered.values()].filter((wallet): wallet is Wallet => wallet !== null);
    onChange(found, isTimeOver && (part !== null || loading === null));
  };
  const load = (): void => {
    // The file's name is the server's to know: it may hold a digest.
    loading ??= (import(setup.script) as Promise<SolanaPart>).then(
      (loaded) => {
        part = loaded;
        tell();
      },
      () => failed(),
    );
  };
  const register = (...wallets: unknown[]): (() => void) => {
    const usable = wallets.filter(speaksSolana);
    for (const wallet of usable) registered.set(wallet, null);
    if (usable.length > 0) load();
    tell();
    return () => {
      for (const wallet of usable) registered.delete(wallet);
      tell();
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
    tell();
  }, SETTLED_AFTER_MS);
}

function speaksSolana(wallet: unknown): boolean {
  const { chains } = (wallet ?? {}) as { chains?: unknown };
  return Array.isArray(chains) && chains.some((chain) => String(chain).startsWith("solana:"));
}
