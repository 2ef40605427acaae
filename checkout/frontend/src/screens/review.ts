/** The review before the payment: the amounts, the fees, and the contract that the transaction calls. */

import { copy } from "../copy";
import { button, el, type Child } from "../dom";
import type { Flow } from "../flow/flow";
import type { Notice } from "../flow/notices";
import { contractOf, outlayOf, spenderOf, totalUsd } from "../flow/route-cache";
import { shortageOf, type Shortage } from "../flow/shortage";
import type { Reviewed } from "../flow/states";
import { untranslated } from "../language";
import { about, amountOf, costs, dollars, held, isZero, lost, needed, plain, worth } from "../money";
import { words } from "../pay/words";
import type { Amount, Checkout, Route, RouteFee } from "../server/types";
import { otherDirect } from "../sponsored/entry";
import { batchNotice } from "./batch";
import type { PayContext } from "./context";
import type { Screen } from "./panel";
import { actions, addressFact, fact, facts, money, noticeBox, payBar, priceText, screen, smallPrint } from "./parts";
import { timeOf, wayOf } from "./routes";

export function reviewScreen(step: Reviewed & { notice?: Notice }, context: PayContext): Screen {
  const { checkout, flow } = context;
  const isDirect = step.route.type === "direct";
  const cost = isDirect ? money(step.route.from.amount, checkout) : costOf(step.route);
  if (isToItself(step, checkout)) return refusedScreen(step, context);
  const shortage = shortageOf(step.route, (address) => flow.balances?.balanceOf(step.option.chainId, address) ?? null);
  const isLacking = step.notice?.isLacking ?? shortage !== null;
  const pay = (kind: "primary" | "quiet"): HTMLElement => button("pay", kind, words.pay(cost), () => void flow.pay(step));
  return screen(
    "review",
    words.review,
    [
      noticeBox(step.notice ?? openQuestion(context)),
      context.warning,
      isDirect ? directFacts(step, context) : swapFacts(step, context),
      isAcceptanceNeeded(step.route) && noticeBox({ tone: "info", text: acceptance(step, context) }),
      shortage && !step.notice?.isLacking && noticeBox({ tone: "info", text: shortageText(shortage) }),
      !isLacking && payBar(pay("primary")),
      isLacking
        ? actions(...waysWithout(step, flow), pay("quiet"))
        : actions(...(isDirect ? directWaysOn(flow) : swapWaysOn(step, flow))),
      ...advice(step, flow.asksOnce),
      isDirect ? null : swapDetails(step, context),
    ],
    step.notice?.text ??
      [isAcceptanceNeeded(step.route) && acceptance(step, context), shortage && shortageText(shortage)].filter(Boolean).join(" "),
  );
}

/** Whether the wallet is the recipient. A transfer to itself pays nothing. */
function isToItself({ wallet, account, route }: Reviewed, { recipient_address: recipient }: Checkout): boolean {
  if (route.type !== "direct") return false;
  return wallet.family === "evm" ? account.toLowerCase() === recipient.toLowerCase() : account === recipient;
}

function refusedScreen(step: Reviewed, context: PayContext): Screen {
  const ways = actions(button("use-another-wallet", "primary", words.useAnotherWallet, () => context.flow.restart()));
  const notice = noticeBox({ tone: "error", text: words.ownWallet });
  return screen("review", words.review, [notice, directFacts(step, context), ways], words.ownWallet);
}

function shortageText({ kind, required, held: balance, symbol }: Shortage): string {
  const [needs, has] = [`${needed(required)} ${symbol}`, `${held(balance)} ${symbol}`];
  return kind === "gas" ? words.noGas(needs, has) : words.noFunds(needs, has);
}

/** The choices if the wallet can't pay: another token, another wallet, or more of this token. */
function waysWithout({ account }: Reviewed, flow: Flow): Child[] {
  const offersTokens = flow.means.offersSwaps;
  const copyAccount = el("button", { type: "button", id: "copy-account", class: "button button--secondary", "data-copy": "account" }, words.topUp);
  return [
    offersTokens && button("other-token", "primary", words.otherToken, () => flow.showTokens()),
    button("use-another-wallet", offersTokens ? "secondary" : "primary", words.useAnotherWallet, () => flow.restart()),
    copyAccount,
    el("span", { id: "account", hidden: "", "data-value": account }),
  ];
}

/**
 * Whether the merchant may have to accept the payment. Payments from a contract account need acceptance if no node can
 * trace them.
 */
function isAcceptanceNeeded({ warnings = [] }: Route): boolean {
  return warnings.some(({ code }) => code === "may_need_acceptance");
}

function acceptance({ option }: Reviewed, { chains, checkout }: PayContext): string {
  return words.mayNeedAcceptance(chains.name(option.chainId), checkout.merchant.name);
}

/**
 * Return a warning if the customer may pay twice. A batch may have paid already, or an earlier prompt may still be
 * open: in another tab, or from before a reload.
 */
function openQuestion({ promptWasLeftOpen, batch }: PayContext): Notice | undefined {
  if (batch) return batchNotice(batch);
  return promptWasLeftOpen ? { tone: "info", text: copy.notices.leftOpen.confirming } : undefined;
}

function directWaysOn(flow: Flow): Child[] {
  return [
    flow.means.offersSwaps && button("other-token", "secondary", words.payWithAnother, () => flow.showTokens()),
    button("use-another-wallet", "quiet", words.useAnotherWallet, () => flow.restart()),
  ];
}

function swapWaysOn(step: Reviewed, flow: Flow): Child[] {
  const isOneOfTwo = (step.routes?.length ?? 0) > 1;
  return [
    isOneOfTwo && button("compare", "secondary", words.compareRoutes, () => flow.compare(step)),
    button("other-token", "quiet", words.otherToken, () => flow.showTokens()),
  ];
}

/** The amount that leaves the wallet, rounded for a button. */
export function costOf(route: Route): string {
  return untranslated(`${costs(outlayOf(route))} ${route.from.token.symbol}`);
}

function directFacts(step: Reviewed, { checkout, chains, flow }: PayContext): HTMLElement {
  return facts(
    fact(copy.amount, stacked(el("strong", {}, money(step.route.from.amount, checkout)), priceText(checkout))),
    fact(words.network, chains.name(step.option.chainId)),
    fact(words.networkFee, feeOrNone(step, flow)),
    ...depositFacts(step.route, checkout),
    addressFact(words.recipient, checkout.recipient_address, "fact--to"),
    addressFact(words.payer, step.account),
  );
}

/** The deposit for a new account of the recipient, and the total with this deposit. Empty if the account exists. */
function depositFacts(route: Route, checkout: Checkout): Child[] {
  const { fees, from, gas } = route;
  const deposit = fees.find(({ included, amount }) => !included && amount && !isZero(amount));
  if (!deposit?.amount) return [];
  const raw = BigInt(deposit.amount.raw) + BigInt(gas?.amount?.raw ?? 0);
  const coins = untranslated(`${about(amountOf(raw.toString(), deposit.amount.decimals))} ${deposit.token.symbol}`);
  return [
    fact(words.accountDeposit, stacked(el("span", {}, coinCost(deposit.amount, deposit.token.symbol, deposit.usd)), words.accountDepositHelp)),
    fact(words.total, stacked(el("strong", {}, money(from.amount, checkout)), `+ ${words.aboutFee(coins)}`, totalOf(route))),
  ];
}

/** The main facts of a swap: amounts sent and received, total cost and duration. */
function swapFacts(step: Reviewed, context: PayContext): HTMLElement {
  const { checkout, chains } = context;
  const { route } = step;
  const { from, to } = route;
  const least = untranslated(`${plain(to.amount_min)} ${to.token.symbol}`);
  const more = amountOf((BigInt(to.amount.raw) - BigInt(to.amount_min.raw)).toString(), to.amount.decimals);
  const total = totalOf(route);
  return el(
    "div",
    {},
    facts(
      fact(words.youPay, stacked(el("strong", {}, costOf(route)), dollars(from.usd), words.onChain(chains.name(from.chain_id)))),
      fact(
        words.receives(checkout.merchant.name),
        stacked(
          el("strong", {}, isZero(more) ? least : words.atLeast(least)),
          priceText(checkout),
          words.onChain(chains.name(to.chain_id)),
          isZero(more) ? null : words.mayBeMore(untranslated(`${about(more)} ${to.token.symbol}`)),
        ),
      ),
      total ? fact(words.total, el("strong", {}, total)) : null,
      fact(words.time, timeOf(route)),
    ),
  );
}

/** The total cost in US dollars with fees, or an empty text if a price is unknown. */
function totalOf(route: Route): string {
  const usd = totalUsd(route);
  if (usd === null) return "";
  return route.gas?.usd ? words.totalAbout(dollars(usd)) : words.totalBesidesNetwork(dollars(usd));
}

/** The exact amounts, all fees, and all addresses in the transaction. */
function swapDetails({ wallet, account, route }: Reviewed, { checkout }: PayContext): HTMLElement {
  const { from, to, fees } = route;
  const contract = contractOf(route);
  const spender = spenderOf(route);
  const conversion = lost(from.usd, to.usd);
  return el(
    "details",
    { class: "more", id: "fees" },
    el("summary", {}, words.feesAndDetails),
    facts(
      fact(words.exactly, untranslated(`${plain(outlayOf(route))} ${from.token.symbol}`)),
      fact(words.fees, fees.length > 0 ? feeList(fees) : words.noFees),
      fact(words.networkFee, networkFee(route)),
      conversion ? fact(words.conversionCost, dollars(conversion)) : null,
      fact(words.way, wayOf(route)),
      contract ? addressFact(words.contract, contract) : null,
      spender && spender !== contract ? addressFact(words.spender, spender) : null,
      addressFact(words.recipient, checkout.recipient_address),
      addressFact(words.payer, account),
    ),
    wallet.family === "solana" ? null : smallPrint(words.swapHelp(wallet.name)),
  );
}

function advice({ wallet, route, notice }: Reviewed & { notice?: Notice }, asksOnce: boolean): Child[] {
  if (route.sponsored) return [smallPrint(copy.sponsored.help(wallet.name))];
  if (route.type === "direct") return [smallPrint(words.reviewHelp(wallet.name))];
  if (wallet.family === "solana") return [smallPrint(words.swapHelpSolana(wallet.name, costOf(route)))];
  // After a first attempt, the wallet may already have the token permission. So the text doesn't announce a prompt for
  // it.
  const isAllowed = !notice && wallet.family === "evm" && Boolean(route.from.token.contract_address);
  const help = asksOnce ? copy.batch.asksOnce : words.swapAllowHelp;
  return [isAllowed && smallPrint(help(wallet.name, `${costs(route.from.amount)} ${route.from.token.symbol}`))];
}

/** The network fee of a direct payment. If the customer can choose who pays it, there is a button to change that. */
function feeOrNone(step: Reviewed, flow: Flow): HTMLElement {
  const { route } = step;
  const { noFee, paidForYou, payFee, payNoFee } = copy.sponsored;
  const fee = route.sponsored ? stacked(el("strong", {}, noFee), paidForYou) : stacked(el("span", {}, networkFee(route)));
  if (otherDirect(step)) {
    const change = el("button", { type: "button", id: "change-fee", class: "copy" }, route.sponsored ? payFee : payNoFee);
    change.addEventListener("click", () => flow.sponsoredWay.change(step));
    fee.append(change);
  }
  return fee;
}

function networkFee({ gas, from }: Route): string {
  if (!gas?.amount) return words.feeInWallet;
  return coinCost(gas.amount, gas.token?.symbol ?? from.chain.native_symbol, gas.usd);
}

function coinCost(amount: Amount, symbol: string, usd: string | null | undefined): string {
  return [words.aboutFee(`${about(amount)} ${symbol}`), worth(amount, usd)].filter(Boolean).join(" · ");
}

function feeList(fees: RouteFee[]): HTMLElement {
  const items = fees.map(({ name, amount, token, usd, included }) => {
    const cost = amount ? untranslated(`${about(amount)} ${token.symbol}`) : "";
    const note = included ? words.feeIncluded : words.feeOnTop;
    return el(
      "li",
      {},
      el("span", { class: "fee__name" }, name),
      el("small", {}, [cost, amount ? worth(amount, usd) : dollars(usd), note].filter(Boolean).join(" · ")),
    );
  });
  return el("ul", { class: "fees" }, ...items);
}

function stacked(first: Node, ...others: (string | null)[]): HTMLElement {
  return el("span", { class: "stacked" }, first, ...others.filter(Boolean).map((text) => el("small", {}, text)));
}
