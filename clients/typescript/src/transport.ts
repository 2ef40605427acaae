/** One API call over HTTP: authentication, retries, and responses as JSON or errors. */
import { randomUUID } from "node:crypto";

import { APIConnectionError, QuittanceError, errorOf, type ErrorDetail } from "./errors.js";
import type { Query } from "./pages.js";
import { LONGEST_RETRY_AFTER_SECONDS, delay, isTemporary, parseRetryAfter } from "./retries.js";
import { VERSION } from "./version.js";

export interface RequestOptions {
  /**
   * For POST: the idempotency key of the call and its retries. Default: a new key. If a call got no response, repeat
   * the call with the same key.
   */
  idempotencyKey?: string;
  /** The timeout of each attempt in milliseconds, including the whole response. */
  timeoutMs?: number;
  maxRetries?: number;
  /** Aborts the call and its retries. */
  signal?: AbortSignal;
}

interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH";
  path: string;
  query?: Query;
  body?: object;
  /** The call can be repeated without another effect. Default: true. */
  isRepeatable?: boolean;
}

export interface TransportOptions {
  baseUrl: string;
  timeoutMs: number;
  maxRetries: number;
  fetch: typeof fetch;
}

const PUBLIC = "/api/public/";
const BY_STATUS: Record<number, string> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
};
// Node's error codes if no connection was established.
const NEVER_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** Calls one service with one key. */
export class Transport {
  readonly baseUrl: string;
  readonly #key: string;
  readonly #options: TransportOptions;

  constructor(apiKey: string, options: TransportOptions) {
    if (typeof apiKey !== "string" || !/^quitt_[0-9a-f]{40}$/.test(apiKey)) {
      throw new TypeError("apiKey should be quitt_ and 40 lowercase hexadecimal digits.");
    }
    this.#key = apiKey;
    this.#options = options;
    this.baseUrl = checkedAddress(options.baseUrl);
  }

  /** Returns the parsed JSON of a successful response. Throws the QuittanceError of the last attempt. */
  async request(call: Call, options: RequestOptions = {}): Promise<unknown> {
    const idempotencyKey = call.method === "POST" ? checkedKey(options.idempotencyKey ?? randomUUID()) : undefined;
    const maxRetries = options.maxRetries ?? this.#options.maxRetries;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(call, options, idempotencyKey);
      } catch (error) {
        if (!(error instanceof QuittanceError) || attempt > maxRetries || !mayRepeat(call, error)) throw error;
        await pause(delay(attempt, error.retryAfter) * 1000, options.signal);
      }
    }
  }

  async #attempt(call: Call, options: RequestOptions, idempotencyKey: string | undefined): Promise<unknown> {
    options.signal?.throwIfAborted();
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs;
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(), timeoutMs);
    const onAbort = (): void => ending.abort();
    options.signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const response = await this.#options.fetch(this.baseUrl + call.path + written(call.query), {
        method: call.method,
        headers: this.#headers(call, idempotencyKey),
        body: call.body === undefined ? null : JSON.stringify(call.body),
        redirect: "manual",
        signal: ending.signal,
      });
      return content(call, response, await response.text());
    } catch (error) {
      if (error instanceof QuittanceError) throw error;
      options.signal?.throwIfAborted();
      throw unreachable(call, this.baseUrl, error, ending.signal.aborted ? timeoutMs : null);
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", onAbort);
    }
  }

  #headers(call: Call, idempotencyKey: string | undefined): Record<string, string> {
    return {
      Accept: "application/json",
      "User-Agent": `quittance-typescript/${VERSION}`,
      ...(call.path.startsWith(PUBLIC) ? {} : { "X-API-Key": this.#key }),
      ...(call.body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey }),
    };
  }
}

/** Returns `id` for use in a path. Throws TypeError for an invalid id. */
export function checkedId(id: string): string {
  if (typeof id !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(id)) {
    throw new TypeError(`An id contains only letters, digits, - and _; got ${JSON.stringify(id)}.`);
  }
  return id;
}

function mayRepeat(call: Call, error: QuittanceError): boolean {
  const isRepeatable = call.isRepeatable ?? true;
  if (error instanceof APIConnectionError) return isRepeatable || error.neverSent;
  if (error.status === null || !isTemporary(error.status, error.code)) return false;
  if ((error.retryAfter ?? 0) > LONGEST_RETRY_AFTER_SECONDS) return false;
  return isRepeatable || error.status === 429;
}

function content(call: Call, response: Response, text: string): unknown {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    answer = null;
  }
  if (response.ok && answer !== null) return answer;
  throw failure(call, response, answer);
}

function failure(call: Call, response: Response, answer: unknown): QuittanceError {
  const { status, headers } = response;
  const reported = (answer as { error?: Record<string, unknown> } | null)?.error;
  const problem = typeof reported === "object" && reported !== null ? reported : { message: notOurs(call, status) };
  const words = (name: string): string | null => (typeof problem[name] === "string" ? (problem[name] as string) : null);
  return errorOf(words("message") ?? `${call.method} ${call.path} returned ${status}.`, {
    code: words("code"),
    type: words("type") ?? BY_STATUS[status] ?? null,
    param: words("param"),
    requestId: words("request_id") ?? headers.get("X-Request-Id"),
    details: Array.isArray(problem["details"]) ? (problem["details"] as ErrorDetail[]) : [],
    status,
    retryAfter: parseRetryAfter(headers.get("Retry-After")),
  });
}

function notOurs(call: Call, status: number): string {
  const returned = `${call.method} ${call.path} returned ${status}`;
  if (status >= 300 && status < 400) {
    return `${returned}. Redirects are not followed with an API key: check baseUrl (https?).`;
  }
  return `${returned} without Quittance's JSON. Check baseUrl.`;
}

/** Return an error. The message must not contain headers or the key. */
function unreachable(call: Call, baseUrl: string, error: unknown, timeoutMs: number | null): APIConnectionError {
  const cause = (error as { cause?: { code?: unknown } }).cause?.code;
  const code = typeof cause === "string" ? cause : null;
  const why = timeoutMs !== null ? `timed out after ${timeoutMs / 1000} s` : `the connection failed (${code ?? "no reason given"})`;
  const neverSent = timeoutMs === null && code !== null && NEVER_SENT.has(code);
  return new APIConnectionError(`${call.method} ${baseUrl}${call.path} got no response: ${why}.`, neverSent);
}

function written(query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    parameters.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  const text = parameters.toString();
  return text && `?${text}`;
}

function checkedAddress(baseUrl: string): string {
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch {
    throw new TypeError("baseUrl should be an address such as https://pay.example.com.");
  }
  if (!["https:", "http:"].includes(url.protocol)) {
    throw new TypeError("baseUrl should be an address such as https://pay.example.com.");
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError("baseUrl should have no credentials, query or fragment.");
  }
  return baseUrl.replace(/\/+$/, "");
}

function checkedKey(key: string): string {
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw new TypeError("idempotencyKey should be 1 to 255 visible ASCII characters.");
  }
  return key;
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
