/** An invalid field: its name, an error code, and a message for people. */
export interface ErrorDetail {
  param: string | null;
  code: string;
  message: string;
}

/** The details of an error. */
export interface ErrorFields {
  code?: string | null;
  type?: string | null;
  param?: string | null;
  requestId?: string | null;
  details?: ErrorDetail[];
  status?: number | null;
  retryAfter?: number | null;
}

/** The base of all errors of this package. None of them contains the API key. */
export class QuittanceError extends Error {
  /** The API's error code (`amount_too_precise`, …). Use it in your program. */
  readonly code: string | null;
  /** The kind of error, such as `invalid_request_error`. Use it if your program doesn't know the `code`. */
  readonly type: string | null;
  /** The invalid field. */
  readonly param: string | null;
  /** The request ID. Mention it if you contact the service's operators. */
  readonly requestId: string | null;
  /** All invalid fields. */
  readonly details: ErrorDetail[];
  /** The HTTP status, or null if there was no response. */
  readonly status: number | null;
  /** The number of seconds to wait before a retry, as the service says. */
  readonly retryAfter: number | null;

  constructor(message: string, fields: ErrorFields = {}) {
    const named = [fields.code, fields.param, message].filter(Boolean).join(": ");
    const others = (fields.details ?? []).slice(1).map((each) => each.param);
    const said = others.length ? `${named} Also at fault: ${others.join(", ")}.` : named;
    super(fields.requestId ? `${said} (request ${fields.requestId})` : said);
    this.name = new.target.name;
    this.code = fields.code ?? null;
    this.type = fields.type ?? null;
    this.param = fields.param ?? null;
    this.requestId = fields.requestId ?? null;
    this.details = fields.details ?? [];
    this.status = fields.status ?? null;
    this.retryAfter = fields.retryAfter ?? null;
  }
}

/** The call is invalid (400, 404, 405, 409, 413, 415). A retry would fail again. */
export class InvalidRequestError extends QuittanceError {}

/** The API key is missing, unknown, revoked or expired (401). */
export class AuthenticationError extends QuittanceError {}

/** The key lacks a permission (403). The message names the permission. */
export class PermissionDeniedError extends QuittanceError {}

/** The idempotency key was used for another call (400), or its first call is still running (409). */
export class IdempotencyError extends QuittanceError {}

/** Too many calls (429), even after the retries. */
export class RateLimitError extends QuittanceError {}

/** The service can't reach a node, a routing provider or its database (502, 503). */
export class UpstreamError extends QuittanceError {}

/** An internal error of the service (500), or a response that is not Quittance's. */
export class APIError extends QuittanceError {}

/**
 * There was no response. So it is unknown whether the call took effect. A retry with the same `idempotencyKey` is safe.
 */
export class APIConnectionError extends QuittanceError {
  /** The connection failed, so the call had no effect. */
  readonly neverSent: boolean;

  constructor(message: string, neverSent = false) {
    super(message);
    this.neverSent = neverSent;
  }
}

/** The delivery can't be trusted. Respond with 400, and do nothing else. */
export class SignatureVerificationError extends QuittanceError {}

type ErrorClass = new (message: string, fields: ErrorFields) => QuittanceError;

const BY_TYPE: ReadonlyMap<string, ErrorClass> = new Map<string, ErrorClass>([
  ["invalid_request_error", InvalidRequestError],
  ["authentication_error", AuthenticationError],
  ["permission_error", PermissionDeniedError],
  ["idempotency_error", IdempotencyError],
  ["rate_limit_error", RateLimitError],
  ["upstream_error", UpstreamError],
  ["api_error", APIError],
]);

/** Returns the error class for a response's `type`. */
export function errorOf(message: string, fields: ErrorFields): QuittanceError {
  return new (BY_TYPE.get(fields.type ?? "") ?? APIError)(message, fields);
}
