/** The time that a payment should still take by its route's estimate, and whether it is slow. */

import { copy } from "../copy";
import { el } from "../dom";
import type { OwnTransaction, SignedTransfer } from "../server/outbox";

/** A fast chain's estimate is a few seconds; a delay of a few more seconds isn't worth a message. */
const NEVER_SLOW_BEFORE_MS = 30_000;
const ROUNDED_TO_SECONDS = 5;

/** The route's estimate in seconds; `sentAt` is by the browser's clock. */
export interface Estimate {
  sentAt: number;
  seconds: number;
}

/** The estimate of what this browser sent or signed; null for anything else. */
export function estimateOf(sent: OwnTransaction | SignedTransfer | null): Estimate | null {
  return sent?.seconds ? { sentAt: sent.sentAt, seconds: sent.seconds } : null;
}

/** Whether the payment takes more than twice as long as estimated. */
export function isSlow({ sentAt, seconds }: Estimate): boolean {
  return Date.now() - sentAt > Math.max(2 * seconds * 1000, NEVER_SLOW_BEFORE_MS);
}

/** The line that counts the estimate down. */
export function estimateLine(estimate: Estimate): HTMLElement {
  const { sentAt, seconds } = estimate;
  const data = { "data-sent-at": String(sentAt), "data-seconds": String(seconds) };
  return el("p", { class: "help estimate", id: "estimate", ...data }, textOf(estimate));
}

/** Count the line down, if the screen has it. */
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
