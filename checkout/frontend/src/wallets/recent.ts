/**
 * The wallets used in this browser. The wallets' names are stored only in this browser, and never sent to the server.
 */

import { INJECTED, type Wallet } from "./wallet";

const KEY = "quittance:wallets";
const LAST = "quittance:last-wallet";
const MAX_KEPT = 5;

export interface Used {
  name: string;
  family: string;
}

/** The state of this tab, for a reload of the page. */
export interface Here extends Used {
  /** The token that the customer chose, as passed to `chose`. */
  choice: unknown;
}

export class RecentWallets {
  private readonly here: string;
  /** The names are read once, when the page loads. So the order of the list doesn't change later. */
  private readonly recentNames = names(localStorageOrNull(), KEY);
  /** The wallet that was used last before the page was loaded. */
  readonly last = used(read(localStorageOrNull(), LAST));

  constructor(requestId: string) {
    this.here = `${KEY}:${requestId}`;
  }

  /** Store the connected wallet. Null means that it was disconnected. */
  connected(wallet: Wallet | null): void {
    const now = wallet && { name: wallet.name, family: wallet.family };
    keep(sessionStorageOrNull(), this.here, now);
    if (!now) return;
    const others = names(localStorageOrNull(), KEY).filter((name) => name !== now.name);
    keep(localStorageOrNull(), KEY, [now.name, ...others].slice(0, MAX_KEPT));
    // Without its own name, a wallet can't be recognised later.
    if (wallet?.id !== INJECTED) keep(localStorageOrNull(), LAST, now);
  }

  /** Store the chosen token with the connected wallet. Null clears it. */
  chose(choice: unknown): void {
    const now = used(read(sessionStorageOrNull(), this.here));
    if (now) keep(sessionStorageOrNull(), this.here, { ...now, choice });
  }

  /** Store that the customer pays by the deposit address, until a wallet is connected. */
  choseAddress(): void {
    keep(sessionStorageOrNull(), this.here, { byAddress: true });
  }

  /** Whether the customer was paying by the deposit address in this tab, before the reload. */
  get wasByAddress(): boolean {
    return (read(sessionStorageOrNull(), this.here) as { byAddress?: unknown } | null)?.byAddress === true;
  }

  /** The wallet that was connected for this payment in this tab, before the reload. */
  get connectedHere(): Here | null {
    const stored = read(sessionStorageOrNull(), this.here);
    const wallet = used(stored);
    return wallet && { ...wallet, choice: (stored as Partial<Here>).choice ?? null };
  }

  /** Sort the wallets: recently used ones are first, with the latest at the top. The others keep their order. */
  sorted(wallets: readonly Wallet[]): Wallet[] {
    const recent = this.recentNames;
    const rank = ({ name }: Wallet): number => (recent.includes(name) ? recent.indexOf(name) : recent.length);
    return [...wallets].sort((one, other) => rank(one) - rank(other));
  }
}

function names(storage: Storage | null, key: string): string[] {
  const stored = read(storage, key);
  return Array.isArray(stored) ? stored.filter((name): name is string => typeof name === "string") : [];
}

function used(stored: unknown): Used | null {
  const { name, family } = (stored ?? {}) as Partial<Record<keyof Used, unknown>>;
  return typeof name === "string" && typeof family === "string" ? { name, family } : null;
}

function read(storage: Storage | null, key: string): unknown {
  try {
    return JSON.parse(storage?.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

function keep(storage: Storage | null, key: string, value: unknown): void {
  try {
    if (value === null) storage?.removeItem(key);
    else storage?.setItem(key, JSON.stringify(value));
  } catch {
    // Storage is full or blocked. Payments don't depend on it.
  }
}

/** If storage is blocked, as in some frames, reading the property throws an error. */
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
