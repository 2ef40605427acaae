/** Objects of the public API and wallets, with the fields that a test names and usual ones for the rest. */

import { vi } from "vitest";
import { Chains } from "../src/chains";
import type { OwnTransaction } from "../src/server/outbox";
import type { Amount, Chain, Checkout, Payment, Route, Token } from "../src/server/types";
import { amountOf } from "../src/money";
import type { Wallet } from "../src/wallets/wallet";

export const HERE = 31337;
export const FAR = 777;
export const SOLANA = 1151111081099710;
export const PAYER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
export const RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
export const STRANGER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
export const HASH = `0x${"34".repeat(32)}`;
export const NOW = Date.parse("2026-01-01T12:00:00Z");

export const minutesAgo = (minutes: number): string => new Date(NOW - minutes * 60_000).toISOString();

export const USDC: Token = { id: 1, symbol: "USDC", name: "USD Coin", decimals: 6, contract_address: `0x${"a1".repeat(20)}` };
export const ETH: Token = { id: 2, symbol: "ETH", name: "Ether", decimals: 18, contract_address: "" };

export const usdc = (raw: number): Amount => amountOf(String(raw), 6);

export function chain(different: Partial<Chain> = {}): Chain {
  const usual = { id: HERE, name: "Local Chain", chain_type: "evm", network: "local", native_symbol: "ETH" };
  return { ...usual, explorer_url: "https://scan.example/", ...different };
}

export const farChain = chain({ id: FAR, name: "Far Chain", explorer_url: "https://far.example" });
export const solana = chain({ id: SOLANA, name: "Local Solana", chain_type: "solana", native_symbol: "SOL" });
export const chains = new Chains([chain(), farChain, solana], chain());

export function payment(different: Partial<Payment> = {}): Payment {
  return {
    id: "pay_1",
    status: "processing",
    type: "direct",
    chain_id: HERE,
    transaction_hash: HASH,
    explorer_url: `https://scan.example/tx/${HASH}`,
    destination_chain_id: HERE,
    destination_transaction_hash: null,
    provider: null,
    provider_status: null,
    amount: null,
    amount_received: null,
    sender_signed_at: null,
    is_seen: true,
    is_bound: true,
    likely_failure: null,
    confirmations: 0,
    confirmations_required: 12,
    destination_confirmations: null,
    destination_confirmations_required: null,
    status_detail: null,
    failure_code: null,
    failure_message: null,
    retries_left: 3,
    created_at: minutesAgo(0),
    ...different,
  };
}

export const swap = (different: Partial<Payment> = {}): Payment =>
  payment({ type: "swap", provider: "lifi", chain_id: FAR, destination_confirmations_required: 12, ...different });

export function checkout(different: Partial<Checkout> = {}): Checkout {
  return {
    shortcode: "Ab3dEf6hJk9m",
    id: "req_1",
    status: "active",
    amount: usdc(10_500_000),
    amount_paid: usdc(0),
    amount_remaining: usdc(10_500_000),
    amount_overpaid: usdc(0),
    token: USDC,
    chain_id: HERE,
    chain: chain(),
    recipient_address: RECIPIENT,
    expires_at: "2026-01-01T13:00:00Z",
    server_time: "2026-01-01T12:00:00Z",
    paid_late: false,
    payment_url: "https://pay.example/pay/Ab3dEf6hJk9m",
    cancel_url: null,
    redirect_url: null,
    merchant: { name: "Alice's Bakery", support_url: null, support_email: null },
    payments: [],
    is_test: false,
    is_available: true,
    is_final: false,
    poll_in_ms: 2_000,
    ...different,
  };
}

export function route(different: Partial<Route> = {}): Route {
  return {
    id: "route_1",
    type: "direct",
    from: { chain_id: HERE, chain: chain(), token: USDC, amount: usdc(10_500_000) },
    to: { chain_id: HERE, chain: chain(), token: USDC, amount: usdc(10_500_000), amount_min: usdc(10_500_000) },
    fees: [],
    gas: null,
    duration_seconds: null,
    steps: [],
    provider: null,
    tags: ["recommended"],
    expires_at: "2026-01-01T12:01:00Z",
    ...different,
  };
}

export function own(different: Partial<OwnTransaction> = {}): OwnTransaction {
  const tracked = { hash: HASH, sender: PAYER, nonce: null, call: null, fromBlock: null };
  const kept = { chainId: HERE, wallet: "Stub Wallet", sentAt: NOW, replaced: [], isCancelled: false, isLetGo: false };
  return { ...tracked, ...kept, ...different };
}

export function wallet(different: Partial<Wallet> = {}): Wallet {
  const face = { id: "stub", name: "Stub Wallet", icon: null, family: "evm" };
  const unused = (): never => {
    throw new Error("The test doesn't script this call.");
  };
  const calls = { connect: unused, accounts: unused, chain: unused, switchTo: unused, matches: unused, sign: unused, send: unused };
  return { ...face, ...calls, read: unused, watch: () => () => undefined, ...different };
}

/** The events of a flow whose wallet executes no batches. */
export const noBatches = { batchOpened: () => undefined, batchSent: () => undefined, batchDropped: () => undefined };

/** Respond to the next calls of `fetch` with these, in order; a missing one is a lost connection. */
export function respond(...responses: (Response | null)[]): ReturnType<typeof vi.fn> {
  const calls = vi.fn(async () => {
    const next = responses.shift();
    if (!next) throw new TypeError("Failed to fetch");
    return next;
  });
  vi.stubGlobal("fetch", calls);
  return calls;
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(status === 304 ? null : JSON.stringify(body), { status, headers });
}

export const refusal = (status: number, code: string, message = "", headers: Record<string, string> = {}): Response =>
  json({ error: { code, message, request_id: "req_7" } }, status, headers);

/** Web Locks as far as the page uses them: `ifAvailable`, exclusive. */
export function locks(): object {
  const held = new Set<string>();
  const request = async (name: string, _: object, callback: (lock: object | null) => unknown): Promise<unknown> => {
    if (held.has(name)) return callback(null);
    held.add(name);
    try {
      return await callback({ name });
    } finally {
      held.delete(name);
    }
  };
  return { request };
}
