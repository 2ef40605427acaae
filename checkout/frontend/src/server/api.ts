/** A client of the public API for one payment request. Calls go to the page's own origin, without credentials. */

import { copy } from "../copy";
import { messageFor } from "../language";
import type {
  Approval,
  Authorization,
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
/** The page waits this long for a busy server. Then it shows an error. */
const PATIENCE_SECONDS = 10;
/** The first pause has at least this length. Each further pause is at least twice as long as the one before. */
const SHORTEST_PAUSE_SECONDS = 1;

/** The code of a response that is not one of the server's errors, such as a page of a proxy or firewall. */
const UNKNOWN = "unknown";

/** An error response, with a message for customers. `status` is 0 if there was no response. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfterSeconds: number | null,
  ) {
    super(message);
  }

  /** Seconds until a retry if the server is busy only for a short time. Otherwise null. */
  get shortWaitSeconds(): number | null {
    const isBusy = this.status === 429 || this.status === 503;
    const wait = isBusy ? this.retryAfterSeconds : null;
    return wait !== null && wait <= PATIENCE_SECONDS ? Math.max(wait, SHORTEST_PAUSE_SECONDS) : null;
  }

  /** Whether the same request may succeed later. Only an error of the server itself is final. */
  get isTemporary(): boolean {
    const { status, code } = this;
    return status === 0 || status === 408 || status === 429 || status >= 500 || code === UNKNOWN;
  }
}

export class Api {
  private etag: string | null = null;
  private readonly request: string;

  /** `onWait` is called with the seconds until a retry. When the retry starts, it is called with null. */
  constructor(
    requestId: string,
    private readonly onWait: (seconds: number | null) => void = () => undefined,
  ) {
    this.request = `${BASE}/payment-requests/${encodeURIComponent(requestId)}`;
  }

  /** The request's current state, or null if it has not changed since the last call. */
  async checkout(): Promise<Checkout | null> {
    const headers: Record<string, string> = this.etag ? { "If-None-Match": this.etag } : {};

    const response = await send(this.request, { headers });
    if (response.status === 304) return null;
    const body = answer<Checkout>(response);
    this.etag = response.headers.get("ETag");
    return body;
  }

  /** The request's current state, even if it has not changed. */
  async wholeCheckout(): Promise<Checkout> {
    return answer<Checkout>(await send(this.request, {}));
  }

  /**
   * The page shows the state with this ETag. From now on, only request other states. With null, request the state even
   * if it has not changed.
   */
  received(etag: string | null): void {
    this.etag = etag;
  }

  /**
   * Balances of the requested token, and of coins and stablecoins on these chains. By default, these are all chains of
   * the wallet's family.
   */
  essentialBalances(
    walletAddress: string,
    chainIds?: number[],
  ): Promise<{ balances: Held[]; unavailable: Unavailable[] }> {
    const body = { wallet_address: walletAddress, chain_ids: chainIds };
    return this.ask(`${this.request}/balances/essential`, body);
  }

  /** All tokens in the wallet that are in the catalogue or in a provider's list. */
  walletTokens(walletAddress: string): Promise<{ tokens: Held[]; unavailable: Unavailable[] }> {
    return this.ask(`${BASE}/discover-wallet-tokens`, { wallet_address: walletAddress });
  }

  routes(walletAddress: string, chainId: number, token: Token): Promise<RouteAnswer> {
    const tokenField = token.id === null ? { token_address: token.contract_address } : { token_id: token.id };
    return this.ask(`${this.request}/routes`, { wallet_address: walletAddress, chain_id: chainId, ...tokenField });
  }

  checkApproval(routeId: string): Promise<Approval> {
    return this.ask(`${BASE}/check-approval`, { route_id: routeId });
  }

  /** `batch`: the wallet sends the transaction and the route's approvals together. */
  buildTransaction(routeId: string, binding?: "payer", batch?: true): Promise<BuiltTransaction> {
    return this.ask(`${BASE}/build-transaction`, { route_id: routeId, binding, batch });
  }

  /** Submit the wallet's signature of the payer proof. */
  async provePayer(routeId: string, walletAddress: string, signature: string): Promise<void> {
    await post(`${this.request}/payer-proof`, { route_id: routeId, wallet_address: walletAddress, signature });
  }

  async showDepositAddress(): Promise<string> {
    const { address } = await this.ask<{ address: string }>(`${this.request}/deposit-address`, {});
    return address;
  }

  /** Submit the payer's signature of a transfer that another account sends. */
  async authorize(routeId: string, authorization: Authorization): Promise<Payment> {
    const payment = await post<Payment>(`${this.request}/authorizations`, { route_id: routeId, ...authorization });
    // The server returns the payment object for merchants, without the page's additional fields.
    return { ...payment, is_seen: false, is_bound: true, likely_failure: null };
  }

  submit(sent: SentTransaction): Promise<Payment> {
    return post(`${this.request}/payments`, sent);
  }

  /** POST. Retry if the server is busy only for a short time. */
  private async ask<T>(url: string, body: unknown): Promise<T> {
    let patience = PATIENCE_SECONDS;
    for (let shortest = SHORTEST_PAUSE_SECONDS; ; shortest *= 2) {
      try {
        return await post(url, body);
      } catch (error) {
        const asked = error instanceof ApiError ? error.shortWaitSeconds : null;
        const wait = Math.max(asked ?? 0, shortest);
        if (asked === null || wait > patience) throw error;
        patience -= wait;
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

/** A response whose body was read to its end. */
interface Received {
  status: number;
  ok: boolean;
  headers: Headers;
  text: string;
}

async function send(url: string, init: RequestInit): Promise<Received> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), TIMEOUT_MS);
  try {
    const response = await fetch(url, { ...init, credentials: "omit", cache: "no-store", signal: abort.signal });
    const { status, ok, headers } = response;
    // The body can stall after the headers, so the timeout covers both.
    return { status, ok, headers, text: await response.text() };
  } catch {
    throw new ApiError(0, "unreachable", copy.errors.unreachable, null);
  } finally {
    clearTimeout(timer);
  }
}

function answer<T>(response: Received): T {
  const body = parsed(response.text);
  if (response.ok && body !== null) return body as T;
  const { code, message: text } = serverError(body) ?? { code: UNKNOWN, message: "" };
  const message = messageFor("refusal", code, text) || copy.errors.server;
  throw new ApiError(response.ok ? 502 : response.status, code, message, retryAfter(response));
}

/** The server's error in this body, or null. A proxy or firewall can use another format, without a request id. */
function serverError(body: unknown): { code: string; message: string } | null {
  const error = (body as { error?: Record<string, unknown> } | null)?.error;
  const { code, message, request_id: requestId } = error ?? {};
  return typeof code === "string" && typeof message === "string" && typeof requestId === "string" ? { code, message } : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function retryAfter(response: Received): number | null {
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
}
