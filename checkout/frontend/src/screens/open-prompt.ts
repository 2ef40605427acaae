/** The notice on screens that a payment reached while the wallet still shows a prompt for it: confirming would pay twice. */

import { copy } from "../copy";
import type { Screen } from "./panel";
import { noticeBox } from "./parts";

/** `here`: this page waits for the wallet's answer; `unanswered`: a prompt of this browser got no answer. */
export type OpenPrompt = "here" | "unanswered" | null;

const ON_ITS_WAY = new Set(["processing", "late", "completed"]);
const ENDED = new Set(["cancelled", "expired", "time-up", "unavailable"]);

/** Add the notice to screens that offer no way to pay. */
export function withOpenPrompt(screen: Screen, prompt: OpenPrompt): Screen {
  const isOnItsWay = ON_ITS_WAY.has(screen.name);
  if (prompt === null || (!isOnItsWay && !ENDED.has(screen.name))) return screen;
  const isSure = prompt === "here" && isOnItsWay;
  const text = isSure ? copy.notices.decline : copy.notices.declineIfOpen;
  const notice = noticeBox({ tone: isSure ? "error" : "info", text });
  const spoken = `${screen.spoken ?? screen.heading} ${text}`;
  return { ...screen, nodes: notice ? [notice, ...screen.nodes] : screen.nodes, spoken };
}
