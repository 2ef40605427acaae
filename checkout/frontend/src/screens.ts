/** The screens before a transaction is sent: one function per step of the flow. */

import { copy } from "./copy";
import { button, el, initial, type Child } from "./dom";
import type { Connected, Flow, Reviewed, Step } from "./flow";
import { isZero, plain } from "./money";
import type { Notice } from "./notices";
import type { Screen } from "./panel";
import { stepList, type StepState } from "./steps";
import type { Amount, Checkout } from "./types";
import type { Wallet } from "./wallet";

export interface PayContext {
  checkout: Checkout;
  wallets: Wallet[];
  walletsSettled: boolean;
  promptWasLeftOpen: boolean;
  flow: Flow;
}

export function payScreen(step: Step, context: PayContext): Screen {
  switch (step.at) {
    case "choose":
      return chooseScreen(step.notice, context);
    case "connecting":
      return waitScreen(
        "connecting",
        copy.connecting(step.wallet.name),
        copy.connectingHelp(step.wallet.name),
        context.flow,
      );
    case "switching": {
      const chain = context.checkout.chain.name;
      const help = copy.switchingHelp(step.wallet.name, chain);
      return waitScreen("switching", copy.switching(chain), help, context.flow);
    }
    case "network":
      return networkScreen(step, context);
    case "quoting":
      return waitScreen("quoting", copy.quoting, copy.quotingHelp, context.flow);
    case "blocked":
      return blockedScreen(step, context.flow);
    case "review":
      return reviewScreen(step, context);
    case "building":
      return waitScreen("building", copy.building, copy.quotingHelp, null);
    case "proving":
      return provingScreen(step, context);
    case "confirming":
      return confirmingScreen(step, context);
  }
}

/** An amount with its symbol, as people say it. */
export function money(amount: Amount, checkout: Checkout): string {
  return `${plain(amount)} ${checkout.token.symbol}`;
}

export function noticeBox(notice: Notice | undefined): HTMLElement | null {
  if (!notice) return null;
  // No role of its own: the page's one live region says it, once.
  return el("p", { class: `notice notice--${notice.tone}`, "data-testid": "notice" }, notice.text);
}

export function paragraph(text: string): HTMLElement {
  return el("p", { class: "help" }, text);
}

export function actions(...buttons: Child[]): HTMLElement {
  return el("div", { class: "actions" }, ...buttons);
}

/** "3.00 of 10.00 USDC received, 7.00 to go", or null when nothing has come in. */
export function partialText(checkout: Checkout): string | null {
  if (isZero(checkout.amount_paid) || isZero(checkout.amount_remaining)) return null;
  const total = money(checkout.amount, checkout);
  return copy.partlyPaid(plain(checkout.amount_paid), total, plain(checkout.amount_remaining));
}

/** How far a part-paid request has come, in words and as a bar; null when nothing has come in. */
export function partialBox(checkout: Checkout): HTMLElement | null {
  const text = partialText(checkout);
  if (!text) return null;
  const bar = { class: "bar", max: checkout.amount.raw, value: checkout.amount_paid.raw, "aria-hidden": "true" };
  return el("div", { class: "partial" }, el("p", {}, text), el("progress", bar));
}

function chooseScreen(notice: Notice | undefined, context: PayContext): Screen {
  const { checkout, wallets, walletsSettled } = context;
  const nodes: Child[] = [partialBox(checkout), noticeBox(notice)];
  if (!notice && context.promptWasLeftOpen) {
    nodes.push(noticeBox({ tone: "info", text: copy.notices.promptLeftOpen }));
  }
  if (!isKnownFamily(checkout)) {
    nodes.push(paragraph(copy.unsupportedChain(checkout.chain.name)));
  } else if (wallets.length > 0) {
    const left = money(checkout.amount_remaining, checkout);
    nodes.push(paragraph(copy.chooseWallet(left, checkout.chain.name)), walletList(wallets, context.flow));
  } else if (walletsSettled) {
    nodes.push(el("h3", {}, copy.noWallet), paragraph(copy.noWalletHelp), copyLinkButton());
  } else if (!notice) {
    nodes.push(paragraph(copy.lookingForWallets));
  }
  return screen("choose", copy.payWithWallet, nodes, notice?.text);
}

function isKnownFamily({ chain }: Checkout): boolean {
  return chain.chain_type === "evm" || chain.chain_type === "solana";
}

function walletList(wallets: Wallet[], flow: Flow): HTMLElement {
  const items = wallets.map((wallet, index) => {
    const row = el("button", { type: "button", class: "wallet", id: `wallet-${index}` });
    row.append(walletIcon(wallet), el("bdi", { class: "wallet__name" }, wallet.name));
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
  const attributes = { type: "button", id: "copy-link", class: "button button--secondary", "data-copy": "payment-url" };
  return actions(el("button", attributes, copy.copyPageLink));
}

function waitScreen(name: string, heading: string, help: string, flow: Flow | null): Screen {
  const back = flow && actions(button("back", "quiet", copy.back, () => flow.restart()));
  return screen(name, heading, [spinner(), paragraph(help), back]);
}

function spinner(): HTMLElement {
  return el("div", { class: "spinner", "aria-hidden": "true" });
}

function networkScreen(step: Connected & { notice: Notice }, { checkout, flow }: PayContext): Screen {
  const label = copy.switchButton(checkout.chain.name);
  return screen(
    "network",
    copy.switching(checkout.chain.name),
    [
      noticeBox(step.notice),
      actions(
        button("switch-network", "primary", label, () => void flow.resume()),
        button("use-another-wallet", "quiet", copy.useAnotherWallet, () => flow.restart()),
      ),
    ],
    step.notice.text,
  );
}

function blockedScreen(step: Connected & { notice: Notice }, flow: Flow): Screen {
  return screen(
    "blocked",
    copy.blocked,
    [
      noticeBox(step.notice),
      actions(
        button("try-again", "primary", copy.tryAgain, () => void flow.resume()),
        button("use-another-wallet", "quiet", copy.useAnotherWallet, () => flow.restart()),
      ),
    ],
    step.notice.text,
  );
}

function reviewScreen(step: Reviewed & { notice?: Notice }, { checkout, flow }: PayContext): Screen {
  return screen(
    "review",
    copy.review,
    [
      noticeBox(step.notice),
      reviewFacts(step, checkout),
      actions(
        button("pay", "primary", copy.pay(money(step.route.from.amount, checkout)), () => void flow.pay()),
        button("use-another-wallet", "quiet", copy.useAnotherWallet, () => flow.restart()),
      ),
      el("p", { class: "help help--small" }, copy.reviewHelp(step.wallet.name)),
    ],
    step.notice?.text,
  );
}

function reviewFacts(step: Reviewed, checkout: Checkout): HTMLElement {
  const fee = step.route.gas?.amount;
  const feeText = fee ? copy.aboutFee(`${short(fee)} ${checkout.chain.native_symbol}`) : copy.feeInWallet;
  return el(
    "dl",
    { class: "facts" },
    fact(copy.amount, el("strong", {}, money(step.route.from.amount, checkout))),
    fact(copy.network, checkout.chain.name),
    fact(copy.networkFee, feeText),
    fact(copy.recipient, el("code", { class: "address" }, checkout.recipient_address), "fact--tall"),
    fact(copy.payer, el("code", { class: "address" }, step.account), "fact--tall"),
  );
}

/** An estimate needs no more than three significant digits. */
function short(amount: Amount): string {
  const text = plain(amount);
  const first = text.search(/[1-9]/);
  const point = text.indexOf(".");
  if (first < 0 || point < 0) return text;
  return text.slice(0, Math.max(first, point) + 4).replace(/\.?0+$/, "");
}

function fact(name: string, value: Child, extra = ""): HTMLElement {
  return el("div", { class: `fact ${extra}`.trim() }, el("dt", {}, name), el("dd", {}, value));
}

function provingScreen(step: Reviewed & { isSigned: boolean }, { checkout, flow }: PayContext): Screen {
  const { name } = step.wallet;
  return screen(
    "proving",
    copy.proving(name),
    [
      proofSteps(step, checkout, false, step.isSigned ? "steps--busy" : ""),
      paragraph(step.isSigned ? copy.checkingProof : copy.provingHelp(name)),
      step.isSigned ? null : actions(button("leave-prompt", "quiet", copy.walletClosed, () => flow.leavePrompt())),
    ],
    step.isSigned ? copy.checkingProof : copy.stepProve,
  );
}

function proofSteps(step: Reviewed, checkout: Checkout, isProved: boolean, kind = ""): HTMLElement {
  const pay = copy.pay(money(step.route.from.amount, checkout));
  const steps: [string, StepState, string?][] = [
    [copy.stepProve, isProved ? "done" : "current", copy.stepProveHelp],
    [pay, isProved ? "current" : "todo"],
  ];
  return stepList(steps, `steps--numbered ${kind}`);
}

function confirmingScreen(step: Reviewed & { hasProof: boolean }, { checkout, flow }: PayContext): Screen {
  const amount = money(step.route.from.amount, checkout);
  return screen("confirming", copy.confirming(step.wallet.name), [
    step.hasProof ? proofSteps(step, checkout, true) : spinner(),
    paragraph(copy.confirmingHelp(amount, step.wallet.name)),
    el("code", { class: "address address--boxed" }, checkout.recipient_address),
    actions(button("leave-prompt", "quiet", copy.walletClosed, () => flow.leavePrompt())),
  ]);
}

export function screen(name: string, heading: string, nodes: Child[], spoken?: string): Screen {
  const kept = nodes.filter((node): node is Node => node instanceof Node);
  return { name, heading, nodes: kept, ...(spoken ? { spoken: `${heading}. ${spoken}` } : {}) };
}
