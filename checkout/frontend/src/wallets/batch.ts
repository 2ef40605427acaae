/** Atomic batches of an Ethereum wallet (EIP-5792, version 2.0.0): approval and payment in one prompt. */

import type { EvmTransaction } from "../server/types";
import { inTime, understood, type Refusal } from "./refusals";

/**
 * The result of a batch, as the wallet reports it. The last call of a batch is the payment. `hash` is the transaction
 * with this call.
 */
export type BatchOutcome =
  | { is: "pending" }
  | { is: "mined"; hash: string }
  /** The batch is not on the chain, and the wallet won't try again. */
  | { is: "unsent" }
  | { is: "reverted" }
  /** Only some calls are on the chain, although the batch should be atomic. The payment may be one of them. */
  | { is: "partial"; hash: string | null }
  /** The wallet doesn't know the batch, or its response can't be used. */
  | { is: "unknown" };

export interface Batches {
  /**
   * Whether the wallet can now execute atomic batches of this account, without an upgrade of the account. Opens no
   * prompt.
   */
  areAtomic(account: string, chainId: number): Promise<boolean>;
  /**
   * Request to execute all calls or none. Return the id of the batch, which may differ from `id`. Throws WalletError.
   */
  send(id: string, account: string, chainId: number, transactions: readonly EvmTransaction[]): Promise<string>;
  outcome(id: string, chainId: number): Promise<BatchOutcome>;
}

const VERSION = "2.0.0";
const HASH = /^0x[0-9a-f]{64}$/i;
const LONGEST_ID = 8194;
const ALL_CHAINS = 0;
/** A wallet that doesn't know the method may never respond. So the payment waits only this long for the response. */
const UNABLE_AFTER_MS = 3_000;
/**
 * Error codes of wallets that have not sent the batch. Either the wallet doesn't know the call, a capability or the
 * chain. Or the batch is too large, can't be atomic, or needs an upgrade of the account.
 */
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
/** Wallets of version 1.0 return words instead of numbers. */
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
      // Version 1.0 returns only the id.
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

/**
 * A random id. With it, the page can later look up the batch in the wallet, even if the page was closed before the
 * wallet responded.
 */
export function newBatchId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return [...bytes].reduce((text, byte) => text + byte.toString(16).padStart(2, "0"), "0x");
}

function isAtomic(answer: unknown, chainId: number): boolean {
  const byChain = Object.entries((answer ?? {}) as Record<string, unknown>);
  const on = (id: number): Atomic => (byChain.find(([key]) => Number(key) === id)?.[1] as { atomic?: Atomic } | null | undefined)?.atomic;
  // If there is an entry for the chain, it overrides the entry for all chains. The status "ready" isn't enough, because
  // the wallet would first prompt for an upgrade of the account.
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
      // Some wallets report success before they know the transaction's hash.
      return hash ? { is: "mined", hash } : { is: "pending" };
    case 4:
      return { is: "unsent" };
    case 5:
      // Some wallets falsely report a failure, so our own nodes decide whether the transaction failed.
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
