/** Pays after the review: switch the network, approve the token, build the transaction, send it. */

import { copy } from "../copy";
import { words } from "../pay/words";
import { ApiError } from "../server/api";
import type { Route } from "../server/types";
import { refusalOf, refused } from "../wallets/refusals";
import type { Shown, Wallet } from "../wallets/wallet";
import { ApprovalFlow, type ApprovalResult } from "./approval";
import type { Batching } from "./batching";
import { tagOf } from "./choice";
import { Exclusive } from "./exclusive";
import { bad, info, paymentNotice, proofNotice, switchNotice, walletNotice, type Notice } from "./notices";
import { spenderOf } from "./route-cache";
import { shownCall } from "./shown";
import type { Means, Stage } from "./stage";
import type { Ask, Plan, Ready, Reviewed } from "./states";


const PROOF_ATTEMPTS = 4;
const PROOF_PAUSE_SECONDS = 3;
/**
 * If a built transaction is older than this, it is built again. On Solana, a transaction expires after about a minute.
 */
const FRESH_FOR_MS = 20_000;

export class Paying {
  private readonly approvalFlow: ApprovalFlow;
  private readonly exclusive: Exclusive;

  constructor(
    private readonly flow: Stage,
    private readonly means: Means,
    private readonly batching: Batching,
  ) {
    this.approvalFlow = new ApprovalFlow(flow, means.api);
    this.exclusive = new Exclusive(`quittance:${means.checkout().id}`);
  }

  /** Pay by the reviewed route. Each outcome is a step of the flow. */
  async start({ wallet, account, option, route, routes, binding }: Reviewed): Promise<void> {
    const reviewed: Reviewed = { wallet, account, option, route, ...(routes ? { routes } : {}), ...(binding ? { binding } : {}) };
    const current = this.flow.begin();
    this.flow.go({ at: "building", ...reviewed });
    const isAlone = await this.exclusive.run(() => this.pay(reviewed, current));
    if (!isAlone && current()) this.flow.review(reviewed, info(words.notices.openElsewhere));
  }

  private async pay(reviewed: Reviewed, current: () => boolean): Promise<void> {
    const { wallet, option } = reviewed;
    try {
      if (!(await this.isDue(reviewed, current))) return;
      if (!(await this.flow.holds(reviewed, current)) || !(await this.reachNetwork(reviewed, current))) return;
      const isDue = (): Promise<boolean> => this.isDue(reviewed, current);
      if ((await this.batching.run(reviewed, isDue, current)) === "shown" || !current()) return;
      const approval = await this.approvalFlow.run(reviewed, current);
      if (!approval || !current()) return;
      const built = await this.build(reviewed, approval, current);
      const ready = built?.built.payer_proof ? await this.prove(built, current) : built;
      if (!ready || !current() || !(await this.isDue(ready, current))) return;
      // The wallet may have switched networks while the server was building the transaction.
      if ((await wallet.chain()) !== option.chainId) {
        if (current()) this.flow.review(reviewed, info(copy.notices.wrongNetwork(this.chainName(reviewed))));
        return;
      }
      if (current()) await this.confirm(ready, this.plan(ready, approval), current);
    } catch (error) {
      if (current()) await this.stopped(error, reviewed, current);
    }
  }

  /**
   * Check with the server and with this browser's other tabs that the payment is still due. If nothing is due, show why
   * and return false.
   */
  private async isDue({ wallet, account, option, route, routes }: Reviewed, current: () => boolean): Promise<boolean> {
    const { flow } = this;
    const reviewed: Reviewed = { wallet, account, option, route, ...(routes ? { routes } : {}) };
    const isStillDue = await this.means.isStillDue();
    if (!current()) return false;
    if (!isStillDue) flow.review(reviewed);
    else if (!flow.routeCache.paysTheRest(route)) await flow.quote(reviewed, current, info(words.notices.amountChanged), tagOf(route));
    else return true;
    return false;
  }

  private async reachNetwork(reviewed: Reviewed, current: () => boolean): Promise<boolean> {
    const { wallet, option } = reviewed;
    if ((await wallet.chain()) === option.chainId) return current();
    if (!current()) return false;
    this.flow.go({ at: "switching", ...reviewed });
    const notice = await this.trySwitch(wallet, option.chainId, this.chainName(reviewed));
    if (current()) notice ? this.flow.review(reviewed, notice) : this.flow.go({ at: "building", ...reviewed });
    return !notice && current();
  }

  private async trySwitch(wallet: Wallet, chainId: number, name: string): Promise<Notice | null> {
    try {
      const reachedId = await wallet.switchTo(chainId, this.means.chains.get(chainId));
      return reachedId === chainId ? null : info(copy.notices.rejectedSwitch(name));
    } catch (error) {
      return switchNotice(error, wallet, name, chainId);
    }
  }

  /**
   * Build the reviewed transaction. If the route has expired, get a new route. If there is none, or if its amounts
   * differ, show that and return null.
   */
  private async build(reviewed: Reviewed, approval: ApprovalResult, current: () => boolean): Promise<Ready | null> {
    const { flow } = this;
    let { route } = reviewed;
    for (let attempt = 0; ; attempt += 1) {
      try {
        if (!flow.routeCache.isFresh(route)) throw routeExpired();
        const built = await this.means.api.buildTransaction(route.id, reviewed.binding);
        return current() ? await this.checked({ ...reviewed, route, built }, current) : null;
      } catch (error) {
        if (attempt > 0 || !isExpiry(error)) throw error;
      }
      const renewed = await this.renewed(reviewed);
      if (!current()) return null;
      if (typeof renewed === "string") {
        flow.blocked(reviewed, bad(renewed));
        return null;
      }
      const isSame = route.type === "direct" && renewed.from.amount.raw === route.from.amount.raw && renewed.sponsored === route.sponsored;
      if (!isSame) {
        const isSwap = renewed.type !== "direct";
        const isUnsponsored = route.sponsored && !renewed.sponsored;
        const changed = isUnsponsored ? copy.sponsored.unavailable : words.notices.amountChanged;
        const notice = isSwap ? words.notices.priceChanged(approval.asks.length > 0) : changed;
        // The review gets no `routes`, because the other routes have also expired.
        const { wallet, account, option, binding } = reviewed;
        flow.review({ wallet, account, option, route: renewed, ...(binding ? { binding } : {}) }, info(notice));
        return null;
      }
      route = renewed;
    }
  }

  /** Load new routes. Return the route that is most like the expired one. If there is none, return the reason. */
  private async renewed({ wallet, account, option, route }: Reviewed): Promise<Route | string> {
    const { routeCache, sponsoredWay } = this.flow;
    routeCache.clear();
    const routes = await routeCache.find(account, option);
    if (typeof routes === "string") return routes;
    return sponsoredWay.renewed(sponsoredWay.usable(routes, wallet), route) ?? copy.notices.noRoute;
  }

  private async checked(ready: Ready, current: () => boolean): Promise<Ready | null> {
    const { wallet, route, built } = ready;
    const isRight = route.sponsored
      ? await this.flow.sponsoredWay.matches(ready)
      : built.transaction !== null && (await wallet.matches(built.transaction, this.shown(ready)));
    if (isRight) return ready;
    if (current()) this.flow.blocked(ready, bad(words.notices.mismatch), false);
    return null;
  }

  private shown(reviewed: Reviewed): Shown {
    if (reviewed.route.type !== "direct") return shownCall(reviewed);
    const { account, option, route } = reviewed;
    const { chainId, token } = option;
    const recipient = this.means.checkout().recipient_address;
    return { kind: "transfer", account, chainId, token, recipient, rawAmount: route.from.amount.raw };
  }

  /**
   * Have the wallet sign the payer proof, and submit the signature. After a failure, show the error and return null.
   */
  private async prove(ready: Ready, current: () => boolean): Promise<Ready | null> {
    const { flow } = this;
    const { wallet, account, option, route, built, binding } = ready;
    const reviewed: Reviewed = { wallet, account, option, route, ...(binding ? { binding } : {}) };
    const plan: Plan = { asks: ["prove", "pay"], at: 0 };
    const builtAt = this.means.now();
    flow.go({ at: "proving", plan, isSigned: false, ...reviewed });
    let signature: string;
    try {
      signature = await flow.prompted("other", wallet.sign(account, built.payer_proof?.message ?? ""));
    } catch (error) {
      if (current()) flow.review(reviewed, afterPermission(proofNotice(error, wallet), reviewed));
      return null;
    }
    if (!current()) return null;
    flow.go({ at: "proving", plan, isSigned: true, ...reviewed });
    try {
      await this.submitProof(route.id, account, signature, current);
    } catch (error) {
      if (!current()) return null;
      if (!isExpiry(error)) flow.review(reviewed, flow.serverNotice(error));
      else await flow.quote(reviewed, current, info(copy.notices.proofTooLate), tagOf(route));
      return null;
    }
    if (built.chain_type !== "solana" || this.means.now() - builtAt < FRESH_FOR_MS || !current()) return ready;
    return this.checked({ ...ready, built: await this.means.api.buildTransaction(route.id, "payer") }, current);
  }

  /** Submit the signature. Retry while the server can't reach a node of the chain. */
  private async submitProof(routeId: string, account: string, signature: string, current: () => boolean): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.means.api.provePayer(routeId, account, signature);
      } catch (error) {
        const isRetryable = error instanceof ApiError && error.isTemporary && attempt < PROOF_ATTEMPTS;
        const wait = isRetryable && error.retryAfterSeconds !== null ? error.shortWaitSeconds : PROOF_PAUSE_SECONDS;
        if (!isRetryable || wait === null || !current()) throw error;
        await seconds(wait);
      }
    }
  }

  /** Send the transaction. The hash is always stored, even if the customer has navigated away. */
  private async confirm(ready: Ready, plan: Plan, current: () => boolean): Promise<void> {
    const { flow } = this;
    const { events } = this.means;
    const { wallet, account, option, route, built, binding } = ready;
    if (route.sponsored) return flow.sponsoredWay.confirm(ready, plan, current);
    if (built.transaction === null) return;
    const reviewed: Reviewed = { wallet, account, option, route, ...(binding ? { binding } : {}) };
    const signed = wallet.read(built.transaction, this.shown(reviewed));
    const prompt = events.promptOpened();
    flow.go({ at: "confirming", plan, signed, ...reviewed });
    try {
      const hash = await flow.prompted("payment", wallet.send(account, built.transaction));
      const by = { wallet: wallet.name, account, prompt, seconds: route.duration_seconds };
      events.sent({ transaction_hash: hash, chain_id: option.chainId, route_id: route.id }, by);
      flow.restart();
    } catch (error) {
      const isUnsent = ["rejected", "unauthorized", "unsupported", "data_refused"].includes(refusalOf(error));
      // After any failure not listed here, the wallet may have sent the transaction. So the prompt counts as open.
      if (isUnsent) events.promptAnswered(prompt);
      if (refusalOf(error) === "data_refused" && built.binding === "reference" && current()) {
        return flow.review({ ...reviewed, binding: "payer" }, info(words.notices.plainPayment(wallet.name)));
      }
      const notice = paymentNotice(error, wallet);
      // Mention the token permission only if nothing was sent. A sent transaction may have used it.
      if (current()) flow.review(reviewed, isUnsent ? afterPermission(notice, reviewed) : notice);
      else events.changed();
    }
  }

  private plan(ready: Ready, approval: ApprovalResult): Plan {
    const asks: Ask[] = [...approval.asks, ...(ready.built.payer_proof ? (["prove"] as const) : []), "pay"];
    return { asks, at: asks.length - 1 };
  }

  private async stopped(error: unknown, reviewed: Reviewed, current: () => boolean): Promise<void> {
    // The route can expire while approvals are mined.
    if (isExpiry(error)) {
      this.flow.routeCache.clear();
      await this.flow.quote(reviewed, current, info(words.notices.priceChanged(true)), tagOf(reviewed.route));
    } else if (error instanceof ApiError && error.code === "sponsoring_unavailable") {
      await this.flow.sponsoredWay.fallBack(reviewed, info(copy.sponsored.unavailable), current);
    } else if (refused(error)) {
      this.flow.review(reviewed, walletNotice(error, reviewed.wallet));
    } else {
      const notice = this.flow.serverNotice(error);
      notice.isLacking ? this.flow.review(reviewed, notice) : this.flow.blocked(reviewed, notice);
    }
  }

  private chainName({ option }: Reviewed): string {
    return this.means.chains.name(option.chainId);
  }
}

/** Add to the notice that nothing was paid, but the token permission remains. */
function afterPermission({ tone, text }: Notice, { wallet, route }: Reviewed): Notice {
  const isGiven = wallet.family === "evm" && spenderOf(route) !== null && route.from.token.contract_address !== "";
  return { tone, text: isGiven ? `${text} ${words.notices.permissionStays(route.from.token.symbol)}` : text };
}

function routeExpired(): ApiError {
  return new ApiError(409, "route_expired", copy.errors.server, null);
}

function isExpiry(error: unknown): boolean {
  return error instanceof ApiError && error.code === "route_expired";
}

function seconds(count: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, count * 1000));
}
