/** Has the wallet allow a contract to take exactly what a route costs, and waits until that is mined. */

import { copy } from "../copy";
import type { Api } from "../server/api";
import type { Approval, EvmTransaction } from "../server/types";
import type { Shown } from "../wallets/wallet";
import { approvalNotice, bad, info } from "./notices";
import { spenderOf } from "./route-book";
import type { Stage } from "./stage";
import type { Ask, Plan, Reviewed } from "./states";

/** What the wallet was asked for on the way to the payment. */
export interface Allowed {
  asks: Ask[];
}

const POLL_MS = 1_500;
/** How often the server is asked beside the wallet: a transaction that was sped up is mined under another name. */
const POLLS_PER_CHECK = 10;
/** Where the wallet can't be asked at all. */
const POLLS_WITHOUT_WALLET = 4;
const SETTLING_CHECKS = 8;
const SETTLING_MS = 2_000;

export class Allowing {
  constructor(
    private readonly flow: Stage,
    private readonly api: Api,
  ) {}

  /** Null after showing why it did not come to it, and when the customer has turned elsewhere. */
  async run(reviewed: Reviewed, current: () => boolean): Promise<Allowed | null> {
    const { route, wallet } = reviewed;
    if (route.type === "direct" || wallet.family !== "evm" || !route.from.token.contract_address) return { asks: [] };
    let approval = await this.api.checkApproval(route.id);
    const asks = approval.transactions.map((_, index, all): Ask => (index < all.length - 1 ? "reset" : "allow"));
    const plan: Ask[] = [...asks, "pay"];
    for (let at = 0; approval.approval_required; at += 1) {
      const transaction = approval.transactions[0];
      if (!current() || !transaction) return null;
      const kind = approval.transactions.length > 1 ? "reset" : "allow";
      if (!(await wallet.matches(transaction, this.shown(reviewed, approval, kind)))) {
        if (current()) this.flow.blocked(reviewed, bad(copy.notices.mismatch), false);
        return null;
      }
      const next = await this.ask(reviewed, transaction, approval, { asks: plan, at }, current);
      if (!next || !current()) return null;
      approval = next;
    }
    if (asks.length > 0 && current()) this.flow.go({ ...reviewed, at: "building" });
    return { asks };
  }

  /** One allowance: asked for, mined, and seen by the server, whose newest answer is returned. */
  private async ask(
    reviewed: Reviewed,
    transaction: EvmTransaction,
    before: Approval,
    plan: Plan,
    current: () => boolean,
  ): Promise<Approval | null> {
    const { flow } = this;
    const { wallet, account } = reviewed;
    const signed = wallet.read(transaction, this.shown(reviewed, before, plan.asks[plan.at] ?? "allow"));
    flow.go({ ...reviewed, at: "approving", plan, isMining: false, signed });
    let hash: string;
    try {
      hash = await wallet.send(account, transaction);
    } catch (error) {
      if (current()) flow.review(reviewed, approvalNotice(error, wallet));
      return null;
    }
    if (!current()) return null;
    flow.go({ ...reviewed, at: "approving", plan, isMining: true, signed });
    const mined = await this.mined(reviewed, hash, before, current);
    if (!current()) return null;
    if (mined === "failed") flow.review(reviewed, bad(copy.notices.approvalFailed));
    if (mined === "elsewhere") flow.review(reviewed, info(copy.notices.wrongNetwork(this.chainName(reviewed))));
    if (typeof mined === "string") return mined === "mined" ? this.settled(reviewed, before, current) : null;
    return mined;
  }

  /** Uses the wallet's own node first, and the server's answer where that one has already changed. */
  private async mined(
    { wallet, route, option }: Reviewed,
    hash: string,
    before: Approval,
    current: () => boolean,
  ): Promise<"mined" | "failed" | "elsewhere" | Approval> {
    let pollsPerCheck = wallet.outcome ? POLLS_PER_CHECK : POLLS_WITHOUT_WALLET;
    const unable = (): null => {
      pollsPerCheck = POLLS_WITHOUT_WALLET;
      return null;
    };
    for (let poll = 1; current(); poll += 1) {
      if ((await wallet.chain()) !== option.chainId) return "elsewhere";
      const outcome = (await wallet.outcome?.(hash).catch(unable)) ?? null;
      if (outcome !== null) return outcome ? "mined" : "failed";
      if (poll % pollsPerCheck === 0) {
        const now = await this.api.checkApproval(route.id).catch(() => before);
        if (isFurther(now, before)) return now;
      }
      await pause(POLL_MS);
    }
    return "mined";
  }

  /** The server's node may learn of a block a moment after the wallet's. */
  private async settled(reviewed: Reviewed, before: Approval, current: () => boolean): Promise<Approval | null> {
    for (let check = 1; check <= SETTLING_CHECKS && current(); check += 1) {
      const now = await this.api.checkApproval(reviewed.route.id);
      if (isFurther(now, before)) return now;
      await pause(SETTLING_MS);
    }
    if (current()) this.flow.review(reviewed, info(copy.notices.approvalUnseen));
    return null;
  }

  private shown({ account, option, route }: Reviewed, { spender }: Approval, kind: Ask): Shown {
    const shown = spenderOf(route) ?? "";
    return {
      kind: "allowance",
      account,
      chainId: option.chainId,
      token: route.from.token,
      // The spender that the server names now has to be the one that it showed for the route.
      spender: spender?.toLowerCase() === shown.toLowerCase() ? shown : "",
      rawAmount: kind === "reset" ? "0" : route.from.amount.raw,
    };
  }

  private chainName({ option }: Reviewed): string {
    return this.flow.means.chains.name(option.chainId);
  }
}

function isFurther(now: Approval, before: Approval): boolean {
  return !now.approval_required || now.transactions.length < before.transactions.length;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
