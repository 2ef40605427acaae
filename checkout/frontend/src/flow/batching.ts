/**
 * Lets the customer confirm a swap and its approvals in one prompt. The wallet must support atomic batches (EIP-5792).
 */

import { copy } from "../copy";
import { words } from "../pay/words";
import { ApiError } from "../server/api";
import type { Approval, EvmTransaction } from "../server/types";
import { newBatchId, type Batches } from "../wallets/batch";
import { refusalOf } from "../wallets/refusals";
import type { Shown, Signed } from "../wallets/wallet";
import { tagOf } from "./choice";
import { bad, info, paymentNotice } from "./notices";
import { shownAllowance, shownCall } from "./shown";
import type { Means, Stage } from "./stage";
import type { Chosen, Reviewed } from "./states";

/** A call of the batch, with the facts that the customer saw about it. */
interface Call {
  transaction: EvmTransaction;
  shown: Shown;
}

/** "ordinary": there was no batch, so each transaction needs a prompt. "shown": the outcome is on the screen. */
export type Outcome = "ordinary" | "shown";

export class Batching {
  /** By wallet, account and chain: whether the wallet executes batches. */
  private readonly atomic = new Map<string, boolean>();
  /** The wallets that rejected a batch. */
  private readonly refusing = new Set<string>();

  constructor(
    private readonly flow: Stage,
    private readonly means: Means,
  ) {}

  /** Query whether the wallet executes batches. The review shows the result when it arrives. */
  async learn(chosen: Chosen): Promise<void> {
    const batches = this.batchesFor(chosen);
    if (!batches || this.atomic.has(keyOf(chosen))) return;
    this.atomic.set(keyOf(chosen), await batches.areAtomic(chosen.account, chosen.option.chainId));
    this.means.events.changed();
  }

  /** Whether the wallet will probably show only one prompt for approval and payment. */
  asksOnce(reviewed: Reviewed): boolean {
    return isSwap(reviewed) && this.batchesFor(reviewed) !== null && this.atomic.get(keyOf(reviewed)) === true;
  }

  /**
   * Pay by a batch if possible. Right before the prompt, `isDue` checks that the payment is still due. If it is no
   * longer due, `isDue` shows why.
   */
  async run(reviewed: Reviewed, isDue: () => Promise<boolean>, current: () => boolean): Promise<Outcome> {
    const { account, option, route } = reviewed;
    const batches = isSwap(reviewed) ? this.batchesFor(reviewed) : null;
    // The wallet's settings may have changed since the review.
    if (!batches || !(await batches.areAtomic(account, option.chainId)) || !current()) return "ordinary";
    const approval = await this.means.api.checkApproval(route.id);
    if (!approval.approval_required || !current()) return "ordinary";
    let calls: Call[];
    try {
      calls = await this.build(reviewed, approval);
    } catch (error) {
      const code = error instanceof ApiError ? error.code : "";
      if (UNAVAILABLE.includes(code)) return "ordinary";
      if (code !== "route_expired") throw error;
      this.flow.routeCache.clear();
      if (current()) await this.flow.quote(reviewed, current, info(words.notices.priceChanged(false)), tagOf(route));
      return "shown";
    }
    if (!current()) return "shown";
    const matches = await Promise.all(calls.map(({ transaction, shown }) => reviewed.wallet.matches(transaction, shown)));
    if (matches.includes(false)) {
      this.flow.blocked(reviewed, bad(words.notices.mismatch), false);
      return "shown";
    }
    if (!(await isDue())) return "shown";
    if ((await reviewed.wallet.chain()) !== option.chainId) {
      if (current()) this.flow.review(reviewed, info(copy.notices.wrongNetwork(this.means.chains.name(option.chainId))));
      return "shown";
    }
    return current() ? this.confirm(reviewed, batches, calls, current) : "shown";
  }

  /** Return the calls: first the approvals, then the payment. */
  private async build(reviewed: Reviewed, approval: Approval): Promise<Call[]> {
    const { transactions } = approval;
    const built = await this.means.api.buildTransaction(reviewed.route.id, undefined, true);
    const approvals = transactions.map((transaction, index) => {
      const kind = index < transactions.length - 1 ? "reset" : "allow";
      return { transaction, shown: shownAllowance(reviewed, approval, kind) };
    });
    return [...approvals, { transaction: built.transaction as EvmTransaction, shown: shownCall(reviewed) }];
  }

  private async confirm(reviewed: Reviewed, batches: Batches, calls: Call[], current: () => boolean): Promise<Outcome> {
    const { flow } = this;
    const { events } = this.means;
    const { wallet, account, option, route } = reviewed;
    const signed = calls.map(({ transaction, shown }) => wallet.read(transaction, shown)).filter((one): one is Signed => one !== null);
    const prompt = events.promptOpened();
    const sent = { id: newBatchId(), chainId: option.chainId, routeId: route.id };
    // Store the batch before the prompt: the wallet may execute it after this page is closed.
    events.batchOpened(sent, { wallet: wallet.name, account, prompt, seconds: route.duration_seconds });
    flow.go({ at: "confirming", plan: { asks: ["pay"], at: 0 }, signed: signed[signed.length - 1] ?? null, batch: signed, ...reviewed });
    try {
      const transactions = calls.map(({ transaction }) => transaction);
      const id = await flow.prompted("payment", batches.send(sent.id, account, option.chainId, transactions));
      events.batchSent(sent.id, id);
      flow.restart();
      return "shown";
    } catch (error) {
      const refusal = refusalOf(error);
      const isUnsent = UNSENT.includes(refusal);
      // After a failure that isn't in `UNSENT`, the wallet may have sent the batch. So the batch's id stays stored.
      if (isUnsent) {
        events.batchDropped(sent.id);
        events.promptAnswered(prompt);
      }
      if (!current()) {
        events.changed();
        return "shown";
      }
      if (refusal === "batch_refused" || refusal === "upgrade_refused") this.refusing.add(wallet.name);
      if (refusal === "batch_refused") {
        flow.review(reviewed);
        flow.go({ at: "building", ...reviewed });
        return "ordinary";
      }
      flow.review(reviewed, refusal === "upgrade_refused" ? info(copy.batch.twice(wallet.name)) : paymentNotice(error, wallet));
      return "shown";
    }
  }

  private batchesFor({ wallet }: Chosen): Batches | null {
    const isOffered = !this.refusing.has(wallet.name) && this.means.mayBatch();
    return (isOffered && wallet.batches) || null;
  }
}

/** The server's codes if it can't build a batch. A server of an earlier release responds with the second code. */
const UNAVAILABLE: readonly string[] = ["batch_unavailable", "parameter_unknown"];
/** After these refusals, nothing was sent. */
const UNSENT: readonly string[] = ["rejected", "unauthorized", "unsupported", "batch_refused", "upgrade_refused"];

function isSwap({ wallet, route }: Reviewed): boolean {
  return wallet.family === "evm" && route.type !== "direct" && route.from.token.contract_address !== "";
}

function keyOf({ wallet, account, option }: Chosen): string {
  return [wallet.name, account, option.chainId].join();
}
