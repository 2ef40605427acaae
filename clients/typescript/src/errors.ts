/** One failed field: which, a code to branch on, and a sentence for people. */
export interface ErrorDetail {
  param: string | null;
  code: string;
  message: string;
}

/** What is known of a failure beyond its message. */
export interface ErrorFields {
  code?: string | null;
  type?: string | null;
  param?: string | null;
  requestId?: string | null;
  details?: ErrorDetail[];
  status?: number | null;
  retryAfter?: number | null;
}

/** The base of all errors of this package. None of them ever holds the API key. */
export class QuittanceError extends Error {
  /** The API's own word (`amount_too_precise`, …): branch on it. */
  readonly code: string | null;
  /** The family of `code`: branch on it for a code that you don't know. */
  readonly type: string | null;
  /** The field at fault. */
  readonly param: string | null;
  /** What the service's operators ask for. */
  readonly requestId: string | null;
  /** Every failed field. */
  readonly details: ErrorDetail[];
  /** The HTTP status; null where no answer came. */
  readonly status: number | null;
  /** How many seconds the service asked to wait. */
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

/** The call is invalid (400, 404, 405, 409, 413, 415). A retry fails again. */
export class InvalidRequestError extends QuittanceError {}

/** The API key is missing, unknown, revoked or expired (401). */
export class AuthenticationError extends QuittanceError {}

/** The key lacks the permission that the message names (403). */
export class PermissionDeniedError extends QuittanceError {}

/** The idempotency key was used for another call (400), or its first call is still running (409). */
export class IdempotencyError extends QuittanceError {}

/** Too many calls (429), and still too many after the retries. */
export class RateLimitError extends QuittanceError {}

/** A node, a routing provider or the database does not answer the service (502, 503). */
export class UpstreamError extends QuittanceError {}

/** A fault of the service (500), or an answer that no Quittance service gives. */
export class APIError extends QuittanceError {}

/**
 * No answer came. Whether the call was carried out is not known; the retries were safe, and so is one more with the same
 * `idempotencyKey`.
 */
export class APIConnectionError extends QuittanceError {
  /** No connection came about, so that certainly nothing was done. */
  readonly neverSent: boolean;

  constructor(message: string, neverSent = false) {
    super(message);
    this.neverSent = neverSent;
  }
}

/** A delivery is not to be believed: answer 400 and do nothing else. */
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
