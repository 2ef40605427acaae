/** The screen with the code that a wallet scans. */

import { button, el, initial } from "../dom";
import type { Screen } from "../screens/panel";
import { actions, noticeBox, paragraph, screen, smallPrint, spinner } from "../screens/parts";
import { pairingLink, type App } from "./apps";
import { codeOf } from "../code";
import type { Pairing } from "./pairing";
import { words } from "./words";

const NAME = "pairing";

export function pairingScreen(pairing: Pairing, apps: readonly App[], renew: () => void, back: () => void): Screen {
  const wayBack = button("back", "quiet", words.back, back);
  switch (pairing.phase) {
    case "opening":
      return screen(NAME, words.heading, [spinner(), paragraph(words.opening), actions(wayBack)], words.opening);
    case "unreachable":
    case "expired": {
      const isExpired = pairing.phase === "expired";
      const text = isExpired ? words.expired : words.unreachable;
      const again = button("renew", "primary", isExpired ? words.renew : words.tryAgain, renew);
      return screen(NAME, words.heading, [noticeBox({ tone: isExpired ? "info" : "error", text }), actions(again, wayBack)], text);
    }
    case "open":
      return openScreen(pairing.uri, apps, wayBack);
  }
}

function openScreen(uri: string, apps: readonly App[], wayBack: HTMLElement): Screen {
  const open = el("a", { id: "open-wallet", class: "button button--primary pairing__open", href: uri, rel: "noopener" }, words.open);
  const copy = el("button", { id: "copy-pairing", type: "button", class: "button button--secondary", "data-copy": "pairing-uri" }, words.copy);
  return screen(
    NAME,
    words.heading,
    [
      paragraph(words.help),
      appList(uri, apps),
      open,
      el("div", { class: "pairing__code" }, codeOf(uri, words.code)),
      el("span", { id: "pairing-uri", "data-value": uri, hidden: "" }),
      actions(copy, wayBack),
      smallPrint(words.nothing),
      smallPrint(words.relay),
    ],
    words.help,
  );
}

/**
 * Links to the apps, shown on phones. Each link opens separately, because the page must stay open for the wallet's
 * response.
 */
function appList(uri: string, apps: readonly App[]): HTMLElement {
  const rows = apps.map((app) => {
    const icon = el("span", { class: "wallet__icon wallet__icon--letter", "aria-hidden": "true" }, initial(app.name));
    const attributes = { class: "wallet", href: pairingLink(app, uri), target: "_blank", rel: "noopener noreferrer" };
    return el("li", {}, el("a", attributes, icon, el("bdi", { class: "wallet__name" }, app.name)));
  });
  return el("div", { class: "pairing__apps" }, el("h3", {}, words.apps), el("ul", { class: "wallets" }, ...rows));
}
