/**
 * The screens while a prompt of the wallet is open. Each screen shows the current step, and the content that the prompt
 * should have.
 */

import { copy } from "../copy";
import { button, el } from "../dom";
import { FAMILIES } from "../families";
import type { Notice } from "../flow/notices";
import { contractOf } from "../flow/route-cache";
import type { Ask, Plan, Reviewed } from "../flow/states";
import { localTime, untranslated } from "../language";
import { amountOf, costs, plain } from "../money";
import { words } from "../pay/words";
import type { Signed } from "../wallets/wallet";
import { batchFacts } from "./batch-facts";
import type { PayContext } from "./context";
import { busyHint, openApp, slowHint } from "./hints";
import type { Screen } from "./panel";
import { actions, addressFact, fact, facts, money, noticeBox, paragraph, screen, spinner } from "./parts";
import { costOf } from "./review";
import { stepList, type StepState } from "./steps";

type Asked = Reviewed & { plan: Plan; signed: Signed | null; batch?: readonly Signed[] };

export function approvingScreen(step: Asked & { isMining: boolean; notice?: Notice }, context: PayContext): Screen {
  const { flow, chains } = context;
  const { wallet, route, plan, isMining } = step;
  const token = route.from.token.symbol;
  const isReset = plan.asks[plan.at] === "reset";
  const help = isReset
    ? words.approvingHelp.reset(wallet.name, token)
    : words.approvingHelp.allow(wallet.name, `${plain(route.from.amount)} ${token}`);
  return screen(
    "approving",
    isMining ? words.mining : words.approving(wallet.name),
    [
      noticeBox(step.notice),
      planList(step, context, isMining ? "steps--busy" : ""),
      paragraph(isMining ? words.miningHelp(chains.name(step.option.chainId)) : help),
      isMining ? null : openApp(wallet),
      isMining ? null : signedFacts(step, context),
      isMining ? busyHint(flow) : slowHint(step, flow),
      actions(
        button("leave-prompt", "quiet", isMining ? words.stopWaiting : words.walletClosed, () => flow.leavePrompt()),
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
      paragraph(isSigned ? words.checkingProof : words.provingHelp(name)),
      isSigned ? null : openApp(step.wallet),
      slowHint(step, context.flow),
      isSigned ? null : actions(button("leave-prompt", "quiet", words.walletClosed, () => context.flow.leavePrompt())),
    ],
    isSigned ? words.checkingProof : context.flow.isSlow ? copy.slowWallet(name) : words.stepProve,
  );
}

export function confirmingScreen(step: Asked, context: PayContext): Screen {
  const { wallet, route } = step;
  const { flow } = context;
  const isDirect = route.type === "direct";
  const amount = isDirect ? money(route.from.amount, context.checkout) : costOf(route);
  const address = isDirect ? context.checkout.recipient_address : contractOf(route);
  const help = isDirect ? words.confirmingHelp : address ? words.confirmingSwapHelp : words.confirmingSolanaHelp;
  const allowed = `${plain(route.from.amount)} ${route.from.token.symbol}`;
  const isSigned = route.sponsored === true;
  return screen(
    "confirming",
    isSigned ? copy.proving(wallet.name) : words.confirming(wallet.name),
    [
      step.plan.asks.length > 1 ? planList(step, context) : spinner(),
      paragraph(step.batch ? copy.batch.confirming(wallet.name, allowed) : (isSigned ? copy.sponsored.signing : help)(amount, wallet.name)),
      openApp(wallet),
      step.batch ? batchFacts(step.batch, step, context.chains, nameOf("pay", step, context)) : signedFacts(step, context),
      slowHint(step, flow),
      actions(button("leave-prompt", "quiet", words.walletClosed, () => flow.leavePrompt())),
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
  const partyName = plan.asks[plan.at] === "pay" ? words.recipient : words.spender;
  return el(
    "section",
    { class: "signed" },
    el("h3", {}, words.youSign),
    facts(
      amount === null ? null : fact(copy.amount, el("strong", {}, untranslated(amount))),
      fact(words.network, chains.name(chainId)),
      party && addressFact(partyName, party),
      contract && addressFact(isToken ? words.tokenContract : words.contract, contract),
      validUntil !== undefined && fact(copy.sponsored.validUntil, localTime(validUntil)),
    ),
  );
}

function planList(step: Reviewed & { plan: Plan }, context: PayContext, kind = ""): HTMLElement {
  const steps = step.plan.asks.map((ask, index): [string, StepState, string?] => {
    const state = index < step.plan.at ? "done" : index === step.plan.at ? "current" : "todo";
    const remark = { prove: words.stepProveHelp, allow: words.stepAllowHelp, reset: "", pay: "" }[ask];
    return [nameOf(ask, step, context), state, remark];
  });
  return stepList(steps, `steps--numbered ${kind}`);
}

function nameOf(ask: Ask, { route }: Reviewed, { checkout }: PayContext): string {
  const { amount, token } = route.from;
  switch (ask) {
    case "reset":
      return words.stepReset(token.symbol);
    case "allow":
      return words.stepAllow(`${plain(amount)} ${token.symbol}`);
    case "prove":
      return words.stepProve;
    case "pay":
      return words.pay(route.type === "direct" ? money(amount, checkout) : costOf(route));
  }
}
