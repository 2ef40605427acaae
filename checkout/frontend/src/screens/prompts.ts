/** The screens while a wallet's prompt is open: the current step, and what the prompt should show. */

import { copy } from "../copy";
import { button, el } from "../dom";
import { FAMILIES } from "../families";
import type { Flow } from "../flow/flow";
import type { Notice } from "../flow/notices";
import { contractOf } from "../flow/route-cache";
import type { Ask, Plan, Reviewed } from "../flow/states";
import { localTime, untranslated } from "../language";
import { amountOf, costs, plain } from "../money";
import type { Signed, Wallet } from "../wallets/wallet";
import { batchFacts } from "./batch";
import type { PayContext } from "./context";
import type { Screen } from "./panel";
import { actions, addressFact, fact, facts, money, noticeBox, paragraph, screen, spinner } from "./parts";
import { costOf } from "./review";
import { stepList, type StepState } from "./steps";

type Asked = Reviewed & { plan: Plan; signed: Signed | null; batch?: readonly Signed[] };

/** A hint on where to find the wallet's prompt, shown once it has been open for a while. */
export function slowHint({ wallet }: { wallet: Wallet }, { isSlow }: Flow): HTMLElement | null {
  return isSlow ? noticeBox({ tone: "info", text: copy.slowWallet(wallet.name) }) : null;
}

/** The seconds until the page retries a request to a busy server. */
export function busyHint({ waitsFor }: Flow): HTMLElement | null {
  return waitsFor === null ? null : noticeBox({ tone: "info", text: copy.errors.waiting(waitsFor) });
}

/** A link to the wallet's app with the open request; shown on phones. */
export function openApp({ app }: Wallet): HTMLElement | null {
  if (!app) return null;
  const attributes = { id: "open-app", class: "button button--primary open-app", target: "_blank", rel: "noopener noreferrer" };
  return el("a", { ...attributes, href: app.url }, copy.openApp(app.name));
}

export function approvingScreen(step: Asked & { isMining: boolean; notice?: Notice }, context: PayContext): Screen {
  const { flow, chains } = context;
  const { wallet, route, plan, isMining } = step;
  const token = route.from.token.symbol;
  const isReset = plan.asks[plan.at] === "reset";
  const help = isReset
    ? copy.approvingHelp.reset(wallet.name, token)
    : copy.approvingHelp.allow(wallet.name, `${plain(route.from.amount)} ${token}`);
  return screen(
    "approving",
    isMining ? copy.mining : copy.approving(wallet.name),
    [
      noticeBox(step.notice),
      planList(step, context, isMining ? "steps--busy" : ""),
      paragraph(isMining ? copy.miningHelp(chains.name(step.option.chainId)) : help),
      isMining ? null : openApp(wallet),
      isMining ? null : signedFacts(step, context),
      isMining ? busyHint(flow) : slowHint(step, flow),
      actions(
        button("leave-prompt", "quiet", isMining ? copy.stopWaiting : copy.walletClosed, () => flow.leavePrompt()),
      ),
    ],
    flow.isSlow ? copy.slowWallet(wallet.name) : (step.notice?.text ?? nameOf(plan.asks[plan.at] ?? "pay", step, context)),
  );
}

export function provingScreen(step: Reviewed & { plan: Plan; isSigned: boolean }, context: PayContext): Screen {
  const { name } = step.wallet;
  const { isSigned } = step;
  return screen(
    "proving",
    copy.proving(name),
    [
      planList(step, context, isSigned ? "steps--busy" : ""),
      paragraph(isSigned ? copy.checkingProof : copy.provingHelp(name)),
      isSigned ? null : openApp(step.wallet),
      slowHint(step, context.flow),
      isSigned ? null : actions(button("leave-prompt", "quiet", copy.walletClosed, () => context.flow.leavePrompt())),
    ],
    isSigned ? copy.checkingProof : context.flow.isSlow ? copy.slowWallet(name) : copy.stepProve,
  );
}

export function confirmingScreen(step: Asked, context: PayContext): Screen {
  const { wallet, route } = step;
  const { flow } = context;
  const isDirect = route.type === "direct";
  const amount = isDirect ? money(route.from.amount, context.checkout) : costOf(route);
  const address = isDirect ? context.checkout.recipient_address : contractOf(route);
  const help = isDirect ? copy.confirmingHelp : address ? copy.confirmingSwapHelp : copy.confirmingSolanaHelp;
  const allowed = `${plain(route.from.amount)} ${route.from.token.symbol}`;
  const isSigned = route.sponsored === true;
  return screen(
    "confirming",
    isSigned ? copy.proving(wallet.name) : copy.confirming(wallet.name),
    [
      step.plan.asks.length > 1 ? planList(step, context) : spinner(),
      paragraph(step.batch ? copy.batch.confirming(wallet.name, allowed) : (isSigned ? copy.sponsored.signing : help)(amount, wallet.name)),
      openApp(wallet),
      step.batch ? batchFacts(step.batch, step, context.chains, nameOf("pay", step, context)) : signedFacts(step, context),
      slowHint(step, flow),
      actions(button("leave-prompt", "quiet", copy.walletClosed, () => flow.leavePrompt())),
    ],
    flow.isSlow ? copy.slowWallet(wallet.name) : "",
  );
}

/** The decoded transaction that the wallet shows. */
function signedFacts({ signed, route, plan, wallet }: Asked, { chains }: PayContext): HTMLElement | null {
  if (!signed) return null;
  const { chainId, party, contract, rawAmount, validUntil } = signed;
  const { token } = route.from;
  const isToken = party !== null && contract !== null;
  const coin = FAMILIES[wallet.family];
  const amount = isToken
    ? `${plain(amountOf(rawAmount, token.decimals))} ${token.symbol}`
    : coin && rawAmount !== "0"
      ? `${costs(amountOf(rawAmount, coin.coinDecimals))} ${route.from.chain.native_symbol}`
      : null;
  const partyName = plan.asks[plan.at] === "pay" ? copy.recipient : copy.spender;
  return el(
    "section",
    { class: "signed" },
    el("h3", {}, copy.youSign),
    facts(
      amount === null ? null : fact(copy.amount, el("strong", {}, untranslated(amount))),
      fact(copy.network, chains.name(chainId)),
      party && addressFact(partyName, party),
      contract && addressFact(isToken ? copy.tokenContract : copy.contract, contract),
      validUntil !== undefined && fact(copy.sponsored.validUntil, localTime(validUntil)),
    ),
  );
}

function planList(step: Reviewed & { plan: Plan }, context: PayContext, kind = ""): HTMLElement {
  const steps = step.plan.asks.map((ask, index): [string, StepState, string?] => {
    const state = index < step.plan.at ? "done" : index === step.plan.at ? "current" : "todo";
    const remark = { prove: copy.stepProveHelp, allow: copy.stepAllowHelp, reset: "", pay: "" }[ask];
    return [nameOf(ask, step, context), state, remark];
  });
  return stepList(steps, `steps--numbered ${kind}`);
}

function nameOf(ask: Ask, { route }: Reviewed, { checkout }: PayContext): string {
  const { amount, token } = route.from;
  switch (ask) {
    case "reset":
      return copy.stepReset(token.symbol);
    case "allow":
      return copy.stepAllow(`${plain(amount)} ${token.symbol}`);
    case "prove":
      return copy.stepProve;
    case "pay":
      return copy.pay(route.type === "direct" ? money(amount, checkout) : costOf(route));
  }
}
