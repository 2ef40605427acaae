/** While the wallet asks: which of the steps it is, and what it should be showing. */

import { copy } from "./copy";
import { button, el } from "./dom";
import { plain } from "./money";
import type { Screen } from "./panel";
import { actions, money, paragraph, screen, spinner } from "./parts";
import { costOf } from "./review-screen";
import { contractOf, spenderOf } from "./route-book";
import type { PayContext } from "./screens";
import type { Ask, Plan, Reviewed } from "./states";
import { stepList, type StepState } from "./steps";

export function approvingScreen(step: Reviewed & { plan: Plan; isMining: boolean }, context: PayContext): Screen {
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
      planList(step, context, isMining ? "steps--busy" : ""),
      paragraph(isMining ? copy.miningHelp(chains.name(step.option.chainId)) : help),
      isMining ? null : addressBox(spenderOf(route) ?? ""),
      actions(
        button("leave-prompt", "quiet", isMining ? copy.stopWaiting : copy.walletClosed, () => flow.leavePrompt()),
      ),
    ],
    nameOf(plan.asks[plan.at] ?? "pay", step, context),
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
      isSigned ? null : actions(button("leave-prompt", "quiet", copy.walletClosed, () => context.flow.leavePrompt())),
    ],
    isSigned ? copy.checkingProof : copy.stepProve,
  );
}

export function confirmingScreen(step: Reviewed & { plan: Plan }, context: PayContext): Screen {
  const { wallet, route } = step;
  const isDirect = route.type === "direct";
  const amount = isDirect ? money(route.from.amount, context.checkout) : costOf(route);
  const address = isDirect ? context.checkout.recipient_address : contractOf(route);
  const help = isDirect ? copy.confirmingHelp : address ? copy.confirmingSwapHelp : copy.confirmingSolanaHelp;
  return screen("confirming", copy.confirming(wallet.name), [
    step.plan.asks.length > 1 ? planList(step, context) : spinner(),
    paragraph(help(amount, wallet.name)),
    address ? addressBox(address) : null,
    actions(button("leave-prompt", "quiet", copy.walletClosed, () => context.flow.leavePrompt())),
  ]);
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

function addressBox(address: string): HTMLElement {
  return el("code", { class: "address address--boxed" }, address);
}
