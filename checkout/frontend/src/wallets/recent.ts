/** Which wallets were used in this browser: stored here only, by name, and never sent. */

import { INJECTED, type Wallet } from "./wallet";

const KEY = "quittance:wallets";
const LAST = "quittance:last-wallet";
const MOST = 5;

export interface Used {
  name: string;
  family: string;
}

/** The state of this tab before a reload. */
export interface Here extends Used {
  /** The token that the customer had chosen, as given to `chose`. */
  choice: unknown;
}

export class RecentWallets {
  private readonly here: string;
  /** As they were when the page was loaded, so that the order of a list doesn't change. */
  private readonly before = names(localStorageOrNull(), KEY);
  /** The wallet that was used last, as it was when the page was loaded. */
  readonly last = used(read(localStorageOrNull(), LAST));

  constructor(requestId: string) {
    this.here = `${KEY}:${requestId}`;
  }

  /** The wallet was connected; a null one was left. */
  connected(wallet: Wallet | null): void {
    const now = wallet && { name: wallet.name, family: wallet.family };
    keep(sessionStorageOrNull(), this.here, now);
    if (!now) return;
    const others = names(localStorageOrNull(), KEY).filter((name) => name !== now.name);
    keep(localStorageOrNull(), KEY, [now.name, ...others].slice(0, MOST));
    // A wallet without a name of its own could not be recognised later.
    if (wallet?.id !== INJECTED) keep(localStorageOrNull(), LAST, now);
  }

  /** With the connected wallet, something was chosen to pay with; null: no longer. */
  chose(choice: unknown): void {
    const now = used(read(sessionStorageOrNull(), this.here));
    if (now) keep(sessionStorageOrNull(), this.here, { ...now, choice });
  }

  /** The wallet that was connected for this payment in this tab, before the reload. */
  get connectedHere(): Here | null {
    const kept = read(sessionStorageOrNull(), this.here);
    const now = used(kept);
    return now && { ...now, choice: (kept as Partial<Here>).choice ?? null };
  }

  /** What was used before comes first, the latest foremost; everything else keeps its place. */
  sorted(wallets: readonly Wallet[]): Wallet[] {
    const known = this.before;
    const rank = ({ name }: Wallet): number => (known.includes(name) ? known.indexOf(name) : known.length);
    return [...wallets].sort((one, other) => rank(one) - rank(other));
  }
}

function names(storage: Storage | null, key: string): string[] {
  const kept = read(storage, key);
  return Array.isArray(kept) ? kept.filter((name): name is string => typeof name === "string") : [];
}

function used(kept: unknown): Used | null {
  const { name, family } = (kept ?? {}) as Partial<Record<keyof Used, unknown>>;
  return typeof name === "string" && typeof family === "string" ? { name, family } : null;
}

function read(storage: Storage | null, key: string): unknown {
  try {
    return JSON.parse(storage?.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

function keep(storage: Storage | null, key: string, kept: unknown): void {
  try {
    if (kept === null) storage?.removeItem(key);
    else storage?.setItem(key, JSON.stringify(kept));
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
