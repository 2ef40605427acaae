/** What is to be confirmed: what leaves the wallet, what arrives, what it costs, and whom the transaction calls. */

import { copy } from "../copy";
import { button, el, type Child } from "../dom";
import type { Flow } from "../flow/flow";
import type { Notice } from "../flow/notices";
import { contractOf, outlayOf, spenderOf } from "../flow/route-book";
import type { Reviewed } from "../flow/states";
import { isolated } from "../language";
import { about, costs, dollars, plain } from "../money";
import type { Route, RouteFee } from "../server/types";
import type { PayContext } from "./context";
import type { Screen } from "./panel";
import { actions, addressFact, fact, facts, money, noticeBox, screen, smallPrint } from "./parts";
import { timeOf, wayOf } from "./routes";

export function reviewScreen(step: Reviewed & { notice?: Notice }, context: PayContext): Screen {
  const { checkout, flow } = context;
  const isDirect = step.route.type === "direct";
  const cost = isDirect ? money(step.route.from.amount, checkout) : costOf(step.route);
  return screen(
    "review",
    copy.review,
    [
      noticeBox(step.notice ?? openQuestion(context)),
      context.doubt,
      isDirect ? directFacts(step, context) : swapFacts(step, context),
      isAcceptanceNeeded(step.route) && noticeBox({ tone: "info", text: acceptance(step, context) }),
      actions(
        button("pay", "primary", copy.pay(cost), () => void flow.pay(step)),
        ...(isDirect ? directWaysOn(flow) : [button("back", "quiet", copy.back, () => void flow.back())]),
      ),
      ...advice(step),
    ],
    step.notice?.text ?? (isAcceptanceNeeded(step.route) ? acceptance(step, context) : ""),
  );
}

/** Whether the merchant may have to accept the payment, since the network's nodes can't look into such a wallet. */
function isAcceptanceNeeded({ warnings = [] }: Route): boolean {
  return warnings.some(({ code }) => code === "may_need_acceptance");
}

function acceptance({ option }: Reviewed, { chains, checkout }: PayContext): string {
  return copy.mayNeedAcceptance(chains.name(option.chainId), checkout.merchant.name);
}

/** The wallet may still be asking from another tab, or from before the page was loaded anew. */
function openQuestion({ promptWasLeftOpen }: PayContext): Notice | undefined {
  return promptWasLeftOpen ? { tone: "info", text: copy.notices.leftOpen.confirming } : undefined;
}

function directWaysOn(flow: Flow): Child[] {
  return [
    flow.means.offersSwaps && button("other-token", "secondary", copy.payWithAnother, () => flow.showTokens()),
    button("use-another-wallet", "quiet", copy.useAnotherWallet, () => flow.restart()),
  ];
}

/** What leaves the wallet, short enough for a button. */
export function costOf(route: Route): string {
  return isolated(`${costs(outlayOf(route))} ${route.from.token.symbol}`);
}

function directFacts(step: Reviewed, { checkout, chains }: PayContext): HTMLElement {
  return facts(
    fact(copy.amount, el("strong", {}, money(step.route.from.amount, checkout))),
    fact(copy.network, chains.name(step.option.chainId)),
    fact(copy.networkFee, networkFee(step.route)),
    addressFact(copy.recipient, checkout.recipient_address),
    addressFact(copy.payer, step.account),
  );
}

function swapFacts(step: Reviewed, { checkout, chains }: PayContext): HTMLElement {
  const { route, account } = step;
  const { from, to, fees } = route;
  const contract = contractOf(route);
  const spender = spenderOf(route);
  const outlay = outlayOf(route);
  const isMore = outlay.raw !== from.amount.raw;
  const cost = isolated(`${costs(outlay)} ${from.token.symbol}`);
  const isExact = to.amount.raw === to.amount_min.raw;
  const least = isolated(`${plain(to.amount_min)} ${to.token.symbol}`);
  const addresses = facts(addressFact(copy.recipient, checkout.recipient_address), addressFact(copy.payer, account));
  return el(
    "div",
    {},
    facts(
      fact(
        copy.youPay,
        stacked(
          el("strong", {}, isolated(`${plain(from.amount)} ${from.token.symbol}`)),
          copy.onChain(chains.name(from.chain_id)),
          from.usd ? copy.worthAbout(dollars(from.usd)) : null,
        ),
      ),
      fact(
        copy.receives(checkout.merchant.name),
        stacked(
          el("strong", {}, isExact ? least : copy.atLeast(least)),
          copy.onChain(chains.name(to.chain_id)),
          isExact ? null : copy.expected(`${about(to.amount)} ${to.token.symbol}`),
        ),
      ),
      fees.length > 0 ? fact(copy.fees, feeList(fees)) : fact(copy.fees, copy.noFees),
      isMore ? fact(copy.withFeesOnTop, el("strong", {}, copy.aboutFee(cost))) : null,
      fact(copy.networkFee, networkFee(route)),
      from.usd && to.usd ? fact(copy.difference, copy.differenceText(dollars(from.usd), dollars(to.usd))) : null,
      fact(copy.time, timeOf(route)),
      fact(copy.way, wayOf(route)),
      contract ? addressFact(copy.contract, contract) : null,
      spender && spender !== contract ? addressFact(copy.spender, spender) : null,
    ),
    el("details", { class: "more" }, el("summary", {}, copy.addresses), addresses),
  );
}

function advice({ wallet, route }: Reviewed): Child[] {
  if (route.type === "direct") return [smallPrint(copy.reviewHelp(wallet.name))];
  if (wallet.family === "solana") return [smallPrint(copy.swapHelpSolana(wallet.name, costOf(route)))];
  const isAllowed = wallet.family === "evm" && Boolean(route.from.token.contract_address);
  return [
    isAllowed && smallPrint(copy.swapAllowHelp(wallet.name, `${plain(route.from.amount)} ${route.from.token.symbol}`)),
    smallPrint(copy.swapHelp(wallet.name)),
  ];
}

function networkFee({ gas, from }: Route): string {
  if (!gas?.amount) return copy.feeInWallet;
  const fee = `${about(gas.amount)} ${gas.token?.symbol ?? from.chain.native_symbol}`;
  return [copy.aboutFee(fee), dollars(gas.usd)].filter(Boolean).join(" · ");
}

function feeList(fees: RouteFee[]): HTMLElement {
  const items = fees.map(({ name, amount, token, usd, included }) => {
    const cost = amount ? isolated(`${about(amount)} ${token.symbol}`) : "";
    const note = included ? copy.feeIncluded : copy.feeOnTop;
    return el(
      "li",
      {},
      el("span", { class: "fee__name" }, name),
      el("small", {}, [cost, dollars(usd), note].filter(Boolean).join(" · ")),
    );
  });
  return el("ul", { class: "fees" }, ...items);
}

function stacked(first: Node, ...others: (string | null)[]): HTMLElement {
  return el("span", { class: "stacked" }, first, ...others.filter(Boolean).map((text) => el("small", {}, text)));
}
