/**
 * Requests the token approval that a route needs, for exactly the route's amount, and waits until the approval is
 * mined. Customers can lower the amount in the wallet. So the new allowance decides whether the next prompt is another
 * approval or the payment.
 */

import { copy } from "../copy";
import { costs, held, isZero } from "../money";
import { words } from "../pay/words";
import type { Api } from "../server/api";
import type { Approval, EvmTransaction } from "../server/types";
import { approvalNotice, bad, info, type Notice } from "./notices";
import { shownAllowance } from "./shown";
import type { Stage } from "./stage";
import type { Ask, Plan, Reviewed } from "./states";

/** The prompts that the wallet showed before the payment itself. */
export interface ApprovalResult {
  asks: Ask[];
}

const POLL_MS = 1_500;
/**
 * If the customer speeds up the approval, its hash changes, and the wallet can't find the old hash. So the server is
 * polled too, once for this many polls of the wallet.
 */
const POLLS_PER_CHECK = 10;
/** For wallets that can't report receipts, the server is polled more often. */
const POLLS_WITHOUT_WALLET = 4;
const SETTLING_CHECKS = 8;
const SETTLING_MS = 2_000;

export class ApprovalFlow {
  constructor(
    private readonly flow: Stage,
    private readonly api: Api,
  ) {}

  /** Return null if the approval failed or the customer navigated away. A failure is shown. */
  async run(reviewed: Reviewed, current: () => boolean): Promise<ApprovalResult | null> {
    const { route, wallet } = reviewed;
    if (route.type === "direct" || wallet.family !== "evm" || !route.from.token.contract_address) return { asks: [] };
    let approval = await this.api.checkApproval(route.id);
    let done: Ask[] = [];
    let notice: Notice | null = null;
    while (approval.approval_required) {
      const [transaction, ...later] = approval.transactions;
      if (!current() || !transaction) return null;
      const kind = later.length > 0 ? "reset" : "allow";
      if (!(await wallet.matches(transaction, shownAllowance(reviewed, approval, kind)))) {
        if (current()) this.flow.blocked(reviewed, bad(words.notices.mismatch), false);
        return null;
      }
      const rest: Ask[] = kind === "reset" ? ["reset", "allow", "pay"] : ["allow", "pay"];
      const next = await this.ask(reviewed, transaction, approval, { asks: [...done, ...rest], at: done.length }, notice, current);
      if (!next || !current()) return null;
      // The customer has allowed too little, so the steps begin again.
      const isPart = kind === "allow" && next.approval_required;
      done = isPart ? [] : [...done, kind];
      notice = isPart ? partNotice(next) : null;
      approval = next;
    }
    if (done.length > 0 && current()) this.flow.go({ ...reviewed, at: "building" });
    return { asks: done };
  }

  /** Request one approval, and wait until the server sees it. Return the server's latest response. */
  private async ask(
    reviewed: Reviewed,
    transaction: EvmTransaction,
    before: Approval,
    plan: Plan,
    notice: Notice | null,
    current: () => boolean,
  ): Promise<Approval | null> {
    const { flow } = this;
    const { wallet, account } = reviewed;
    const signed = wallet.read(transaction, shownAllowance(reviewed, before, plan.asks[plan.at] === "reset" ? "reset" : "allow"));
    flow.go({ ...reviewed, at: "approving", plan, isMining: false, signed, ...(notice ? { notice } : {}) });
    let hash: string;
    try {
      hash = await flow.prompted("other", wallet.send(account, transaction));
    } catch (error) {
      if (current()) flow.review(reviewed, approvalNotice(error, wallet));
      return null;
    }
    if (!current()) return null;
    flow.go({ ...reviewed, at: "approving", plan, isMining: true, signed });
    const mined = await this.mined(reviewed, hash, before, current);
    if (!current()) return null;
    if (mined === "failed") flow.review(reviewed, bad(words.notices.approvalFailed));
    if (mined === "elsewhere") flow.review(reviewed, info(copy.notices.wrongNetwork(this.chainName(reviewed))));
    if (typeof mined === "string") return mined === "mined" ? this.settled(reviewed, before, current) : null;
    return mined;
  }

  /** Poll the wallet's node for the receipt. Poll the server less often. */
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

  /** Poll the server. The server's node may see the block slightly later than the wallet's node. */
  private async settled(reviewed: Reviewed, before: Approval, current: () => boolean): Promise<Approval | null> {
    let now = before;
    for (let check = 1; check <= SETTLING_CHECKS && current(); check += 1) {
      now = await this.api.checkApproval(reviewed.route.id);
      if (isFurther(now, before)) return now;
      await pause(SETTLING_MS);
    }
    // The allowance has not changed. It may be too low because the customer chose the same low amount again.
    if (current()) this.flow.review(reviewed, isZero(now.allowance) ? info(words.notices.approvalUnseen) : partNotice(now));
    return null;
  }

  private chainName({ option }: Reviewed): string {
    return this.flow.means.chains.name(option.chainId);
  }
}

/** Whether the allowance has changed since the prompt. */
function isFurther(now: Approval, before: Approval): boolean {
  return !now.approval_required || now.allowance.raw !== before.allowance.raw;
}

function partNotice({ allowance, required, token }: Approval): Notice {
  return info(words.notices.allowedPart(held(allowance), `${costs(required)} ${token.symbol}`));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
