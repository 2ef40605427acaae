/**
 * The screen while the page waits. Its hints say where the prompt may be or how long the server is busy, and link to
 * the wallet's app.
 */

import { copy } from "../copy";
import { button, el } from "../dom";
import type { Flow } from "../flow/flow";
import type { Wallet } from "../wallets/wallet";
import type { Screen } from "./panel";
import { actions, noticeBox, paragraph, screen, spinner } from "./parts";

/** A hint where the wallet's prompt may be. The hint is shown when the prompt has been open for a while. */
export function slowHint({ wallet }: { wallet: Wallet }, { isSlow }: Flow): HTMLElement | null {
  return isSlow ? noticeBox({ tone: "info", text: copy.slowWallet(wallet.name) }) : null;
}

/** The seconds until the page retries a request to a busy server. */
export function busyHint({ waitsFor }: Flow): HTMLElement | null {
  return waitsFor === null ? null : noticeBox({ tone: "info", text: copy.errors.waiting(waitsFor) });
}

/** On phones, a link that opens the current request in the wallet's app. */
export function openApp({ app }: Wallet): HTMLElement | null {
  if (!app) return null;
  const attributes = { id: "open-app", class: "button button--primary open-app", target: "_blank", rel: "noopener noreferrer" };
  return el("a", { ...attributes, href: app.url }, copy.openApp(app.name));
}

export function waitScreen(
  name: string,
  heading: string,
  help: string,
  goBack: (() => void) | null,
  hint: HTMLElement | null = null,
  app: HTMLElement | null = null,
): Screen {
  const back = goBack && actions(button("back", "quiet", copy.back, goBack));
  return screen(name, heading, [spinner(), paragraph(help), app, hint, back], hint?.textContent ?? "");
}
