/**
 * A notice that the wallet may still show a prompt for a payment that was already made. If the customer confirms this
 * prompt, the customer pays twice.
 */

import { copy } from "../copy";
import type { Screen } from "./panel";
import { noticeBox } from "./parts";

/** `here`: this page waits for the wallet's response. `unanswered`: a prompt of this browser got no response. */
export type OpenPrompt = "here" | "unanswered" | null;

const ON_ITS_WAY = new Set(["processing", "late", "completed"]);
const ENDED = new Set(["cancelled", "expired", "time-up", "unavailable"]);

/** Add the notice to a screen, unless the screen offers a way to pay. */
export function withOpenPrompt(screen: Screen, prompt: OpenPrompt): Screen {
  const isOnItsWay = ON_ITS_WAY.has(screen.name);
  if (prompt === null || (!isOnItsWay && !ENDED.has(screen.name))) return screen;
  const isSure = prompt === "here" && isOnItsWay;
  const text = isSure ? copy.notices.decline : copy.notices.declineIfOpen;
  const notice = noticeBox({ tone: isSure ? "error" : "info", text });
  const spoken = `${screen.spoken ?? screen.heading} ${text}`;
  return { ...screen, nodes: notice ? [notice, ...screen.nodes] : screen.nodes, spoken };
}
