/** Converts the errors of wallets, which have various formats, into one set of refusals. */

export type Refusal =
  | "rejected"
  | "unauthorized"
  | "unsupported"
  | "unknown_chain"
  /** The wallet or its device doesn't sign a transfer with additional data. */
  | "data_refused"
  /** The wallet can't execute this batch. Nothing was sent. */
  | "batch_refused"
  /** The customer declined to upgrade the account for batches. Nothing was sent. */
  | "upgrade_refused"
  /** The wallet doesn't know the batch. */
  | "batch_unknown"
  | "already_asking"
  | "disconnected"
  | "silent"
  /** The script for this kind of wallet couldn't be loaded. */
  | "incomplete"
  | "other";

/** A wallet rejected the request or failed. `detail` is the wallet's own message. Show it only as text. */
export class WalletError extends Error {
  constructor(
    readonly refusal: Refusal,
    readonly detail: string,
  ) {
    super(refusal);
  }
}

/** The timeout for calls that open no prompt. */
const SILENT_AFTER_MS = 10_000;

const REFUSALS: Readonly<Record<string, Refusal>> = {
  "4001": "rejected",
  ACTION_REJECTED: "rejected",
  "4100": "unauthorized",
  "4200": "unsupported",
  "-32601": "unsupported",
  "4902": "unknown_chain",
  "-32002": "already_asking",
  "4900": "disconnected",
  "4901": "disconnected",
};

/** Some wallets report a rejection by the customer only in the message. */
const DECLINED = /\buser (has )?(rejected|declined|denied|cancell?ed)\b/i;
/**
 * Errors of hardware wallets for data that they can't show. Ledger returns the status 0x6a80, or names its setting for
 * contract data or blind signing. Trezor and Keystone have their own messages. MetaMask rejects data in a transfer to
 * one of its own accounts. Nothing was signed.
 */
const DATA_REFUSED = /\b0x6a80\b|\b(contract|extra|trailing|invalid|unexpected|unknown) (call ?)?data\b|\bblind.?sign|\binclude data\b/i;
const MAX_LAYERS = 12;
const LONGEST_DETAIL = 200;

/**
 * Return the error if it is a WalletError, or else null. The check reads properties, because each script has its own
 * copy of the class.
 */
export function refused(error: unknown): WalletError | null {
  return error instanceof Error && "refusal" in error ? (error as WalletError) : null;
}

export function refusalOf(error: unknown): Refusal {
  return refused(error)?.refusal ?? "other";
}

/**
 * Convert any error of a wallet to a WalletError. The code may be nested, so each level is checked. `codes` are those
 * of the called method. These codes take precedence over the general ones.
 */
export function understood(error: unknown, codes: Readonly<Record<string, Refusal>> = {}): WalletError {
  const walletError = refused(error);
  if (walletError) return walletError;
  const queue: unknown[] = typeof error === "object" && error !== null ? [error] : [];
  let detail = typeof error === "string" ? error.slice(0, LONGEST_DETAIL) : "";
  for (let seen = 0; seen < MAX_LAYERS && queue.length > 0; seen += 1) {
    const { code, message, data, cause, originalError } = queue.shift() as Record<string, unknown>;
    detail ||= typeof message === "string" ? message.slice(0, LONGEST_DETAIL) : "";
    const refusal = codes[String(code)] ?? REFUSALS[String(code)];
    if (refusal) return new WalletError(refusal, detail);
    queue.push(...[data, cause, originalError].filter((inner) => typeof inner === "object" && inner !== null));
  }
  if (DECLINED.test(detail)) return new WalletError("rejected", detail);
  return new WalletError(DATA_REFUSED.test(detail) ? "data_refused" : "other", detail);
}

/** Return the response to a call that opens no prompt. If the wallet doesn't respond in time, throw "silent". */
export function inTime<T>(answer: Promise<T>, milliseconds = SILENT_AFTER_MS): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new WalletError("silent", "")), milliseconds);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
