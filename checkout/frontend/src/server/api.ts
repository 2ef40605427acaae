/** The public API of one payment request. Same origin, no credentials. */

import { copy } from "../copy";
import { messageFor } from "../language";
import type {
  Approval,
  BuiltTransaction,
  Checkout,
  Held,
  Payment,
  RouteAnswer,
  SentTransaction,
  Token,
  Unavailable,
} from "./types";

const BASE = "/api/public";
const TIMEOUT_MS = 20_000;
/** How long in all to wait for a busy server before the customer sees an error. */
const PATIENCE_SECONDS = 10;

/** A refusal or a failure, with a message written for people. `status` is 0 when there was no answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfterSeconds: number | null,
  ) {
    super(message);
  }

  /** In how many seconds a server that is busy for a moment wants to be asked again; null where it isn't, or for long. */
  get shortWaitSeconds(): number | null {
    const isBusy = this.status === 429 || this.status === 503;
    const wait = isBusy ? this.retryAfterSeconds : null;
    return wait !== null && wait <= PATIENCE_SECONDS ? wait : null;
  }

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

export class Api {
  private etag: string | null = null;
  private readonly request: string;

  /** `onWait` gets the seconds until the next try, and null once the server is asked again. */
  constructor(
    requestId: string,
    private readonly onWait: (seconds: number | null) => void = () => undefined,
  ) {
    this.request = `${BASE}/payment-requests/${encodeURIComponent(requestId)}`;
  }

  /** The request's current state, or null when it has not changed since the last call. */
  async checkout(): Promise<Checkout | null> {
    const headers: Record<string, string> = this.etag ? { "If-None-Match": this.etag } : {};
    const response = await send(this.request, { headers });
    if (response.status === 304) return null;
    const body = await answer<Checkout>(response);
    this.etag = response.headers.get("ETag");
    return body;
  }

  /** The requested token, each chain's coin and its stablecoins, on these chains or on all of the wallet's family. */
  essentialBalances(
    walletAddress: string,
    chainIds?: number[],
  ): Promise<{ balances: Held[]; unavailable: Unavailable[] }> {
    const body = { wallet_address: walletAddress, chain_ids: chainIds };
    return this.ask(`${this.request}/balances/essential`, body);
  }

  /** Every token that the wallet holds, as far as it is known. */
  walletTokens(walletAddress: string): Promise<{ tokens: Held[]; unavailable: Unavailable[] }> {
    return this.ask(`${BASE}/discover-wallet-tokens`, { wallet_address: walletAddress });
  }

  routes(walletAddress: string, chainId: number, token: Token): Promise<RouteAnswer> {
    const named = token.id === null ? { token_address: token.contract_address } : { token_id: token.id };
    return this.ask(`${this.request}/routes`, { wallet_address: walletAddress, chain_id: chainId, ...named });
  }

  checkApproval(routeId: string): Promise<Approval> {
    return this.ask(`${BASE}/check-approval`, { route_id: routeId });
  }

  buildTransaction(routeId: string, binding?: "payer"): Promise<BuiltTransaction> {
    return this.ask(`${BASE}/build-transaction`, { route_id: routeId, binding });
  }

  /** Brings the wallet's signature under the message that came with the transaction. */
  async provePayer(routeId: string, walletAddress: string, signature: string): Promise<void> {
    await post(`${this.request}/payer-proof`, { route_id: routeId, wallet_address: walletAddress, signature });
  }

  submit(sent: SentTransaction): Promise<Payment> {
    return post(`${this.request}/payments`, sent);
  }

  /** Asks again by itself while the server is busy for a moment only. */
  private async ask<T>(url: string, body: unknown): Promise<T> {
    for (let patience = PATIENCE_SECONDS; ; ) {
      try {
        return await post(url, body);
      } catch (error) {
        const wait = error instanceof ApiError ? error.shortWaitSeconds : null;
        if (wait === null || wait > patience) throw error;
        // A zero wait counts too, so that this loop ends.
        patience -= Math.max(1, wait);
        this.onWait(wait);
        await new Promise((resolve) => setTimeout(resolve, wait * 1000));
        this.onWait(null);
      }
    }
  }
}

async function post<T>(url: string, body: unknown): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return answer<T>(await send(url, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function send(url: string, init: RequestInit): Promise<Response> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), TIMEOUT_MS);
  try {
    return await fetch(url, { ...init, credentials: "omit", cache: "no-store", signal: abort.signal });
  } catch {
    throw new ApiError(0, "unreachable", copy.errors.unreachable, null);
  } finally {
    clearTimeout(timer);
  }
}

async function answer<T>(response: Response): Promise<T> {
  const body: unknown = await response.json().catch(() => null);
  if (response.ok && body !== null) return body as T;
  const error = (body as { error?: { code?: unknown; message?: unknown } } | null)?.error;
  const code = typeof error?.code === "string" ? error.code : "unknown";
  const message = messageFor("refusal", code, typeof error?.message === "string" ? error.message : "") || copy.errors.server;
  throw new ApiError(response.ok ? 502 : response.status, code, message, retryAfter(response));
}

function retryAfter(response: Response): number | null {
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
}
