/** What a wallet's refusals mean, in whatever shape they come. */

export type Refusal =
  | "rejected"
  | "unauthorized"
  | "unsupported"
  | "unknown_chain"
  | "already_asking"
  | "disconnected"
  | "silent"
  /** The part of the page that speaks to the wallet can't be loaded. */
  | "incomplete"
  | "other";

/** A wallet said no, or failed. `detail` is the wallet's own wording: show it as text only. */
export class WalletError extends Error {
  constructor(
    readonly refusal: Refusal,
    readonly detail: string,
  ) {
    super(refusal);
  }
}

/** How long a wallet may take over what it can answer by itself, without its owner. */
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

/** Some say in words alone that their owner declined. */
const DECLINED = /\buser (has )?(rejected|declined|denied|cancell?ed)\b/i;
const MOST_LAYERS = 12;
const LONGEST_DETAIL = 200;

/** The refusal that was thrown, or null. Known by its shape: each of the page's scripts has a class of its own. */
export function refused(error: unknown): WalletError | null {
  return error instanceof Error && "refusal" in error ? (error as WalletError) : null;
}

export function refusalOf(error: unknown): Refusal {
  return refused(error)?.refusal ?? "other";
}

/** Wallets wrap the code that matters at different depths, so every one that is found is tried. */
export function understood(error: unknown): WalletError {
  const known = refused(error);
  if (known) return known;
  const queue: unknown[] = typeof error === "object" && error !== null ? [error] : [];
  let detail = typeof error === "string" ? error.slice(0, LONGEST_DETAIL) : "";
  for (let seen = 0; seen < MOST_LAYERS && queue.length > 0; seen += 1) {
    const { code, message, data, cause, originalError } = queue.shift() as Record<string, unknown>;
    detail ||= typeof message === "string" ? message.slice(0, LONGEST_DETAIL) : "";
    const refusal = REFUSALS[String(code)];
    if (refusal) return new WalletError(refusal, detail);
    queue.push(...[data, cause, originalError].filter((inner) => typeof inner === "object" && inner !== null));
  }
  return new WalletError(DECLINED.test(detail) ? "rejected" : "other", detail);
}

/** The answer to what no owner has to be asked about, or "silent" from a wallet that gives none. */
export function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new WalletError("silent", "")), SILENT_AFTER_MS);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
