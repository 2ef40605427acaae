/** The screen with the code that a wallet scans. */

import { button, el } from "../dom";
import type { Screen } from "../screens/panel";
import { actions, noticeBox, paragraph, screen, smallPrint, spinner } from "../screens/parts";
import { codeOf } from "./code";
import type { Pairing } from "./pairing";
import { words } from "./words";

const NAME = "pairing";

export function pairingScreen(pairing: Pairing, renew: () => void, back: () => void): Screen {
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
      return openScreen(pairing.uri, wayBack);
  }
}

function openScreen(uri: string, wayBack: HTMLElement): Screen {
  const open = el("a", { id: "open-wallet", class: "button button--primary pairing__open", href: uri, rel: "noopener" }, words.open);
  const copy = el("button", { id: "copy-pairing", type: "button", class: "button button--secondary", "data-copy": "pairing-uri" }, words.copy);
  return screen(
    NAME,
    words.heading,
    [
      paragraph(words.help),
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
