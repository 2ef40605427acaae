/** The screens before a transaction is sent. Screens with a connected wallet are in `connected.ts`. */

import { copy } from "../copy";
import { el, initial, type Child } from "../dom";
import { FAMILIES } from "../families";
import type { Notice } from "../flow/notices";
import type { Step } from "../flow/states";
import type { Checkout } from "../server/types";
import type { Wallet } from "../wallets/wallet";
import { batchNotice } from "./batch";
import type { PayContext } from "./context";
import { busyHint, slowHint, waitScreen } from "./hints";
import type { Screen } from "./panel";
import { money, noticeBox, paragraph, partialBox, partialText, screen, smallPrint } from "./parts";
import { supportLine } from "./progress";

/** The script for a connected wallet, with its screens. The flow loads it. */
type PayPart = typeof import("../pay/main");

export function payScreen(step: Step, context: PayContext): Screen {
  const { flow, checkout } = context;
  switch (step.at) {
    case "choose":
      return chooseScreen(step.notice, context);
    case "preparing":
      return waitScreen("preparing", copy.quoting, copy.quotingHelp, () => flow.back(), busyHint(flow));
    case "deposit":
      return step.part.depositScreen(step.address, checkout, context.underWay, () => flow.back());
    case "connecting": {
      const { name } = step.wallet;
      const own = step.wallet.screen?.(() => flow.restart());
      if (own) return own;
      return waitScreen("connecting", copy.connecting(name), copy.connectingHelp(name), () => flow.back(), slowHint(step, flow));
    }
    default:
      // A wallet is connected, so the flow has loaded the script.
      return flow.part ? (flow.part as PayPart).connectedScreen(step, context) : waitScreen("looking", copy.looking, copy.quotingHelp, () => flow.back());
  }
}

function chooseScreen(notice: Notice | undefined, context: PayContext): Screen {
  const { checkout, wallets, walletsSettled, flow } = context;
  const leftOpen: Notice = { tone: "info", text: copy.notices.leftOpen.confirming };
  const doubt = context.batch ? batchNotice(context.batch) : context.promptWasLeftOpen ? leftOpen : undefined;
  const nodes: Child[] = [partialBox(checkout), noticeBox(notice), noticeBox(doubt), context.warning];
  if (!isKnownFamily(checkout)) {
    nodes.push(paragraph(copy.unsupportedChain(checkout.chain.name)), supportLine(checkout));
  } else if (wallets.length > 0) {
    nodes.push(context.isWalletBlocked && noticeBox({ tone: "info", text: copy.blockedWallet }));
    nodes.push(chooseHelp(context), walletList(wallets, context), missingWallet(context));
    nodes.push(context.isWalletBlocked && waysHere(true));
  } else if (walletsSettled && context.isWalletBlocked) {
    nodes.push(el("h3", {}, copy.noWallet), paragraph(copy.blockedWallet), waysHere(false), copyLinkButton());
  } else if (walletsSettled) {
    // The text below is as high as the placeholder, so the content under it doesn't move.
    const needs = flow.means.offersSwaps ? "" : ` ${copy.noWalletNeeds(checkout.chain.name)}`;
    nodes.push(el("h3", {}, copy.noWallet), smallPrint(copy.noWalletHelp + needs), missingWallet(context), copyLinkButton());
  } else if (!notice) {
    // The same content as in the page from the server.
    const hidden = el("span", { class: "hidden-text" }, copy.lookingForWallets);
    nodes.push(chooseHelp(context), el("div", { class: "skeleton__wallet" }, hidden));
  }
  const isPart = partialText(checkout) !== null;
  const heading = isPart ? copy.payTheRest(money(checkout.amount_remaining, checkout)) : copy.payWithWallet;
  return screen("choose", heading, nodes, notice?.text ?? context.warning?.firstChild?.textContent ?? "");
}

function chooseHelp({ checkout, flow }: PayContext): HTMLElement {
  const help = flow.means.offersSwaps ? copy.chooseAnyWallet : copy.chooseWallet;
  return paragraph(help(money(checkout.amount_remaining, checkout), checkout.chain.name));
}

/** The ways to pay without a wallet in this browser. The list uses links that the page already has. */
function waysHere(isWalletConnectOffered: boolean): HTMLElement {
  const scan = document.getElementById("scan-heading");
  const byHand = document.querySelector<HTMLAnchorElement>(".send-yourself a");
  const ways: Child[] = [
    isWalletConnectOffered && el("li", {}, copy.blockedWalletConnect),
    scan && el("li", {}, el("a", { href: "#scan-heading" }, scan.textContent ?? "")),
    byHand && el("li", {}, el("a", { href: byHand.href }, byHand.textContent ?? "")),
    el("li", {}, copy.blockedElsewhere),
  ];
  return el("div", { class: "help" }, el("p", {}, copy.blockedWays), el("ul", { class: "ways" }, ...ways));
}

function missingWallet({ missing }: PayContext): HTMLElement | null {
  return missing === null ? null : smallPrint(copy.lastUsedMissing(missing));
}

function isKnownFamily({ chain }: Checkout): boolean {
  return chain.chain_type in FAMILIES;
}

function walletList(wallets: Wallet[], { flow, lastUsed }: PayContext): HTMLElement {
  const items = wallets.map((wallet, index) => {
    const row = el("button", { type: "button", class: "wallet", id: `wallet-${index}` });
    const hint = wallet.hint ? el("span", { class: "wallet__hint" }, wallet.hint) : null;
    row.append(walletIcon(wallet), el("span", {}, el("bdi", { class: "wallet__name" }, wallet.name), hint));
    if (wallet.name === lastUsed && wallets.length > 1) row.append(el("span", { class: "tag" }, copy.lastUsed));
    row.addEventListener("click", () => void flow.choose(wallet));
    return el("li", {}, row);
  });
  return el("ul", { class: "wallets" }, ...items);
}

function walletIcon({ icon, name }: Wallet): HTMLElement {
  const letter = el("span", { class: "wallet__icon wallet__icon--letter", "aria-hidden": "true" }, initial(name));
  if (!icon) return letter;
  const picture = el("img", { class: "wallet__icon", src: icon, alt: "", width: "32", height: "32" });
  picture.addEventListener("error", () => picture.replaceWith(letter));
  return picture;
}

function copyLinkButton(): HTMLElement {
  return el("button", { type: "button", id: "copy-link", class: "copy", "data-copy": "payment-url" }, copy.copyPageLink);
}
