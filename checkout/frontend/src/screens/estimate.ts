/** The remaining time of a payment by its route's estimate, and whether the payment is slow. */

import { copy } from "../copy";
import { el } from "../dom";
import type { OwnTransaction, SignedTransfer } from "../server/outbox";

/** No payment counts as slow before this time. On a fast chain, twice the estimate is only a few seconds. */
const NEVER_SLOW_BEFORE_MS = 30_000;
const ROUNDED_TO_SECONDS = 5;

/** The route's estimate in seconds. `sentAt` is a time of the browser's clock. */
export interface Estimate {
  sentAt: number;
  seconds: number;
}

/** The estimate of a payment that this browser sent or signed. Null if there is no such payment or no estimate. */
export function estimateOf(sent: OwnTransaction | SignedTransfer | null): Estimate | null {
  return sent?.seconds ? { sentAt: sent.sentAt, seconds: sent.seconds } : null;
}

/** Whether the payment takes more than twice as long as estimated. */
export function isSlow({ sentAt, seconds }: Estimate): boolean {
  return Date.now() - sentAt > Math.max(2 * seconds * 1000, NEVER_SLOW_BEFORE_MS);
}

/** The line with the countdown of the estimate. */
export function estimateLine(estimate: Estimate): HTMLElement {
  const { sentAt, seconds } = estimate;
  const data = { "data-sent-at": String(sentAt), "data-seconds": String(seconds) };
  return el("p", { class: "help estimate", id: "estimate", ...data }, textOf(estimate));
}

/** Update the line, if the screen has it. */
export function tickEstimate(): void {
  const line = document.getElementById("estimate");
  if (!line) return;
  const text = textOf({ sentAt: Number(line.dataset.sentAt), seconds: Number(line.dataset.seconds) });
  if (line.textContent !== text) line.textContent = text;
}

function textOf({ sentAt, seconds }: Estimate): string {
  const left = seconds - (Date.now() - sentAt) / 1000;
  if (left <= 0) return copy.anyMoment;
  return copy.secondsLeft(Math.ceil(left / ROUNDED_TO_SECONDS) * ROUNDED_TO_SECONDS);
}
