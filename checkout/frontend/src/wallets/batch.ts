/** Atomic batches of an Ethereum wallet (EIP-5792, version 2.0.0): approval and payment in one prompt. */

import type { EvmTransaction } from "../server/types";
import { inTime, understood, type Refusal } from "./refusals";

/** The result of a batch, as far as the wallet reports it. `hash` is of the transaction with the last call, the payment. */
export type BatchOutcome =
  | { is: "pending" }
  | { is: "mined"; hash: string }
  /** It is not on the chain, and the wallet won't try again. */
  | { is: "unsent" }
  | { is: "reverted" }
  /** Some calls are on the chain and others not, although atomicity was required. The payment may be one of them. */
  | { is: "partial"; hash: string | null }
  /** The wallet doesn't know the batch, or gives no usable answer. */
  | { is: "unknown" };

export interface Batches {
  /** Whether the wallet executes batches of this account atomically now, without an upgrade. Opens no prompt. */
  areAtomic(account: string, chainId: number): Promise<boolean>;
  /** Ask to execute the calls, all or none; return the batch's id, which may differ from `id`. Throws WalletError. */
  send(id: string, account: string, chainId: number, transactions: readonly EvmTransaction[]): Promise<string>;
  outcome(id: string, chainId: number): Promise<BatchOutcome>;
}

const VERSION = "2.0.0";
const HASH = /^0x[0-9a-f]{64}$/i;
const LONGEST_ID = 8194;
const ALL_CHAINS = 0;
/** Wallets that don't know the method may never answer, and the payment waits for it. */
const UNABLE_AFTER_MS = 3_000;
/** Refusals before anything is sent: of an unknown call or capability, a chain, the size, the upgrade, atomicity. */
const REFUSED: Readonly<Record<string, Refusal>> = {
  "-32602": "batch_refused",
  "4200": "batch_refused",
  "-32601": "batch_refused",
  "5700": "batch_refused",
  "5710": "batch_refused",
  "5740": "batch_refused",
  "5750": "upgrade_refused",
  "5760": "batch_refused",
};
const UNKNOWN: Readonly<Record<string, Refusal>> = { "5730": "batch_unknown" };
/** Wallets of version 1.0 answer with words. */
const WORDS: Readonly<Record<string, number>> = { PENDING: 100, CONFIRMED: 200 };

type Atomic = { status?: unknown } | null | undefined;

/** Calls a wallet's method (EIP-1193). */
type Request = (call: { method: string; params: unknown[] }) => Promise<unknown>;

export function batchesOf(request: Request): Batches {
  const ask = async (method: string, params: unknown[], codes: Readonly<Record<string, Refusal>> = {}): Promise<unknown> => {
    try {
      return await request({ method, params });
    } catch (error) {
      throw understood(error, codes);
    }
  };
  return {
    async areAtomic(account, chainId) {
      try {
        return isAtomic(await inTime(ask("wallet_getCapabilities", [account, [hex(chainId)]]), UNABLE_AFTER_MS), chainId);
      } catch {
        return false;
      }
    },
    async send(id, account, chainId, transactions) {
      const calls = transactions.map(({ to, data, value }) => ({ to, data: data ?? "0x", value: value ?? "0x0" }));
      const batch = { version: VERSION, id, from: account, chainId: hex(chainId), atomicRequired: true, calls };
      const answer = await ask("wallet_sendCalls", [batch], REFUSED);
      // Version 1.0 returns the id alone.
      const given = typeof answer === "string" ? answer : (answer as { id?: unknown } | null)?.id;
      return typeof given === "string" && given !== "" && given.length <= LONGEST_ID ? given : id;
    },
    async outcome(id, chainId) {
      try {
        return outcomeOf(await inTime(ask("wallet_getCallsStatus", [id], UNKNOWN)), chainId);
      } catch (error) {
        if (understood(error).refusal === "batch_unknown") return { is: "unknown" };
        throw error;
      }
    },
  };
}

/** A random id, so that the page can ask for the batch even if it was closed before the wallet responded. */
export function newBatchId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return [...bytes].reduce((text, byte) => text + byte.toString(16).padStart(2, "0"), "0x");
}

function isAtomic(answer: unknown, chainId: number): boolean {
  const byChain = Object.entries((answer ?? {}) as Record<string, unknown>);
  const on = (id: number): Atomic => (byChain.find(([key]) => Number(key) === id)?.[1] as { atomic?: Atomic } | null | undefined)?.atomic;
  // A chain's entry overrides that of all chains for each capability alone.
  // "ready" would first ask the customer to upgrade the account.
  return (on(chainId) ?? on(ALL_CHAINS))?.status === "supported";
}

function outcomeOf(answer: unknown, expectedChain: number): BatchOutcome {
  const { status, chainId, atomic, receipts } = (answer ?? {}) as Record<string, unknown>;
  if (Number(chainId ?? expectedChain) !== expectedChain) return { is: "unknown" };
  const code = WORDS[String(status)] ?? Number(status);
  const all = Array.isArray(receipts) ? receipts.map(hashOf) : [];
  const hash = all[all.length - 1] ?? null;
  switch (Math.floor(code / 100)) {
    case 1:
      return { is: "pending" };
    case 2:
      // Some wallets report success before they know the transaction.
      return hash ? { is: "mined", hash } : { is: "pending" };
    case 4:
      return { is: "unsent" };
    case 5:
      // Our own nodes decide whether it failed: wallets have reported it wrongly.
      return hash && all.length === 1 && atomic !== false ? { is: "mined", hash } : { is: "reverted" };
    case 6:
      return { is: "partial", hash };
    default:
      return { is: "unknown" };
  }
}

function hashOf(receipt: unknown): string | null {
  const { transactionHash: hash } = (receipt ?? {}) as { transactionHash?: unknown };
  return typeof hash === "string" && HASH.test(hash) ? hash : null;
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}
