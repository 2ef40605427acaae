/** Which wallets were used in this browser: kept here alone, by name, and told to nobody. */

import type { Wallet } from "./wallet";

const KEY = "quittance:wallets";
const MOST = 5;

export class RecentWallets {
  private readonly here: string;
  /** As they were when the page was loaded: what stands in a list stays where it is. */
  private readonly before = names(localStorageOrNull(), KEY);

  constructor(requestId: string) {
    this.here = `${KEY}:${requestId}`;
  }

  /** The wallet was connected; a null one was left. */
  connected(wallet: Wallet | null): void {
    keep(sessionStorageOrNull(), this.here, wallet ? [wallet.name, wallet.family] : []);
    if (!wallet) return;
    const others = names(localStorageOrNull(), KEY).filter((name) => name !== wallet.name);
    keep(localStorageOrNull(), KEY, [wallet.name, ...others]);
  }

  /** The wallet that was connected for this payment in this tab, before the page was loaded anew. */
  get connectedHere(): { name: string; family: string } | null {
    const [name, family] = names(sessionStorageOrNull(), this.here);
    return name && family ? { name, family } : null;
  }

  /** The wallet that was used last. */
  get last(): string | null {
    return this.before[0] ?? null;
  }

  /** What was used before comes first, the latest foremost; everything else keeps its place. */
  sorted(wallets: readonly Wallet[]): Wallet[] {
    const known = this.before;
    const rank = ({ name }: Wallet): number => (known.includes(name) ? known.indexOf(name) : known.length);
    return [...wallets].sort((one, other) => rank(one) - rank(other));
  }
}

function names(storage: Storage | null, key: string): string[] {
  try {
    const kept: unknown = JSON.parse(storage?.getItem(key) ?? "[]");
    return Array.isArray(kept) ? kept.filter((name): name is string => typeof name === "string") : [];
  } catch {
    return [];
  }
}

function keep(storage: Storage | null, key: string, kept: string[]): void {
  try {
    if (kept.length > 0) storage?.setItem(key, JSON.stringify(kept.slice(0, MOST)));
    else storage?.removeItem(key);
  } catch {
    // Full, or not allowed: a convenience, nothing that a payment needs.
  }
}

/** Where storage is forbidden, as in some frames, already the property throws. */
function localStorageOrNull(): Storage | null {
  try {
    return localStorage;
  } catch {
    return null;
  }
}

function sessionStorageOrNull(): Storage | null {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}
