/** From choosing a wallet to a sent transaction: a state machine with one state per screen. */

import type { Api } from "./api";
import { ApiError } from "./api";
import { copy } from "./copy";
import { bad, connectionNotice, info, paymentNotice, proofNotice, walletNotice, type Notice } from "./notices";
import { refusalOf, refused } from "./refusals";
import type { BuiltTransaction, Checkout, Route, SentTransaction } from "./types";
import type { Wallet } from "./wallet";

export interface Connected {
  wallet: Wallet;
  account: string;
}

export interface Reviewed extends Connected {
  route: Route;
}

export type Step =
  | { at: "choose"; notice?: Notice }
  | { at: "connecting"; wallet: Wallet }
  | ({ at: "switching" } & Connected)
  | ({ at: "network"; notice: Notice } & Connected)
  | ({ at: "quoting" } & Connected)
  | ({ at: "blocked"; notice: Notice } & Connected)
  | ({ at: "review"; notice?: Notice } & Reviewed)
  | ({ at: "building" } & Reviewed)
  | ({ at: "proving"; isSigned: boolean } & Reviewed)
  | ({ at: "confirming"; hasProof: boolean } & Reviewed);

type Ready = Reviewed & { built: BuiltTransaction };
type At = Step["at"];

/** Where each step may lead. "choose" is always open: the customer may go back at any time. */
const NEXT: Readonly<Record<At, readonly At[]>> = {
  choose: ["connecting"],
  connecting: ["switching", "network", "quoting"],
  switching: ["network", "quoting"],
  network: ["switching", "quoting"],
  quoting: ["quoting", "review", "blocked"],
  blocked: ["switching", "network", "quoting"],
  review: ["review", "building", "quoting"],
  building: ["review", "quoting", "blocked", "proving", "confirming"],
  proving: ["proving", "review", "quoting", "blocked", "confirming"],
  confirming: ["review"],
};

const ROUTE_MARGIN_MS = 5_000;
const PROOF_ATTEMPTS = 4;
const PROOF_PAUSE_SECONDS = 3;
/** A Solana transaction can be sent for about a minute after it was built. */
const FRESH_FOR_MS = 20_000;

export interface FlowEvents {
  changed(): void;
  promptOpened(): void;
  promptAnswered(): void;
  sent(transaction: SentTransaction): void;
  requestChanged(): void;
}

export class Flow {
  step: Step = { at: "choose" };
  private turn = 0;
  private unwatch: (() => void) | null = null;

  constructor(
    private readonly api: Api,
    private readonly checkout: () => Checkout,
    private readonly now: () => number,
    private readonly events: FlowEvents,
  ) {}

  /** Back to the list of wallets. An answer that a wallet still gives is not lost: see `confirm`. */
  restart(notice?: Notice): void {
    this.turn += 1;
    this.unwatch?.();
    this.unwatch = null;
    this.go(notice ? { at: "choose", notice } : { at: "choose" });
  }

  async choose(wallet: Wallet): Promise<void> {
    const current = this.begin();
    this.go({ at: "connecting", wallet });
    try {
      const account = await wallet.connect();
      if (!current()) return;
      this.watch(wallet);
      await this.reachNetwork({ wallet, account }, current);
    } catch (error) {
      if (current()) this.restart(connectionNotice(error, wallet));
    }
  }

  /** Tries again from the network and the quote, for the wallet that is connected. */
  async resume(): Promise<void> {
    if (!("account" in this.step)) return;
    const { wallet, account } = this.step;
    const current = this.begin();
    try {
      await this.reachNetwork({ wallet, account }, current);
    } catch (error) {
      if (current()) this.restart(connectionNotice(error, wallet));
    }
  }

  /** From the review: build, check, prove the wallet where that is asked for, and hand over to it. */
  async pay(): Promise<void> {
    if (this.step.at !== "review") return;
    const { wallet, account, route } = this.step;
    const reviewed: Reviewed = { wallet, account, route };
    const current = this.begin();
    this.go({ at: "building", ...reviewed });
    try {
      if (!(await this.onRightNetwork(reviewed, current))) return;
      const built = await this.build(reviewed, current);
      const ready = built?.built.payer_proof ? await this.prove(built, current) : built;
      if (!ready || !current()) return;
      // The wallet may have been moved while the server was building.
      if ((await wallet.chain()) !== this.checkout().chain_id) {
        if (current()) this.review(reviewed, info(copy.notices.wrongNetwork(this.checkout().chain.name)));
        return;
      }
      if (current()) await this.confirm(ready, current);
    } catch (error) {
      if (current()) this.stopped(error, reviewed);
    }
  }

  /** The customer cannot find the wallet's prompt: the review again, while its answer is still awaited. */
  leavePrompt(): void {
    if (this.step.at !== "confirming" && this.step.at !== "proving") return;
    const { at, wallet, account, route } = this.step;
    this.turn += 1;
    const text = at === "confirming" ? copy.notices.promptLeftOpen : copy.notices.proofLeftOpen;
    this.review({ wallet, account, route }, info(text));
  }

  private async reachNetwork(connected: Connected, current: () => boolean): Promise<void> {
    const { chain_id: wanted, chain } = this.checkout();
    if ((await connected.wallet.chain()) !== wanted) {
      if (!current()) return;
      this.go({ at: "switching", ...connected });
      const notice = await this.trySwitch(connected.wallet, wanted, chain.name);
      if (!current()) return;
      if (notice) {
        this.go({ at: "network", ...connected, notice });
        return;
      }
    }
    // The account may have been changed in the wallet together with the network.
    const account = "account" in this.step ? this.step.account : connected.account;
    if (current()) await this.quote({ ...connected, account }, current);
  }

  private async trySwitch(wallet: Wallet, wanted: number, name: string): Promise<Notice | null> {
    try {
      const reached = await wallet.switchTo(wanted);
      return reached === wanted ? null : info(copy.notices.rejectedSwitch(name));
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === "rejected") return info(copy.notices.rejectedSwitch(name));
      // Wallets that cannot add networks answer with many codes; the remedy is the same.
      if (["unknown_chain", "unsupported", "other"].includes(refusal)) return bad(copy.notices.addNetwork(name, wanted));
      return walletNotice(error, wallet);
    }
  }

  private async onRightNetwork(reviewed: Reviewed, current: () => boolean): Promise<boolean> {
    const { chain_id: wanted, chain } = this.checkout();
    if ((await reviewed.wallet.chain()) === wanted) return current();
    const notice = await this.trySwitch(reviewed.wallet, wanted, chain.name);
    if (notice && current()) this.review(reviewed, notice);
    return !notice && current();
  }

  private async quote(connected: Connected, current: () => boolean, notice?: Notice): Promise<void> {
    this.go({ at: "quoting", ...connected });
    try {
      const route = await this.directRoute(connected.account);
      if (!current()) return;
      if (typeof route === "string") this.go({ at: "blocked", ...connected, notice: bad(route) });
      else this.review({ ...connected, route }, notice);
    } catch (error) {
      if (current()) this.go({ at: "blocked", ...connected, notice: this.serverNotice(error) });
    }
  }

  /** A route that pays in the requested token on the requested chain, or why there is none. */
  private async directRoute(account: string): Promise<Route | string> {
    const { chain_id: chainId, token } = this.checkout();
    const { routes, reason } = await this.api.routes(account, chainId, token.id);
    const direct = routes.find((route) => route.type === "direct" && route.from.chain_id === chainId);
    return direct ?? (reason?.message || copy.notices.noRoute);
  }

  /** The transaction for what was reviewed, or null after showing why it cannot be built. */
  private async build(reviewed: Reviewed, current: () => boolean): Promise<Ready | null> {
    let { route } = reviewed;
    for (let attempt = 0; ; attempt += 1) {
      try {
        if (Date.parse(route.expires_at) - ROUTE_MARGIN_MS < this.now()) throw routeExpired();
        const built = await this.api.buildTransaction(route.id);
        return current() ? await this.checked({ ...reviewed, route, built }, current) : null;
      } catch (error) {
        if (attempt > 0 || !isExpiry(error)) throw error;
      }
      const renewed = await this.directRoute(reviewed.account);
      if (!current()) return null;
      if (typeof renewed === "string") {
        this.go({ at: "blocked", wallet: reviewed.wallet, account: reviewed.account, notice: bad(renewed) });
        return null;
      }
      if (renewed.from.amount.raw !== route.from.amount.raw) {
        this.review({ ...reviewed, route: renewed }, info(copy.notices.amountChanged));
        return null;
      }
      route = renewed;
    }
  }

  private async checked(ready: Ready, current: () => boolean): Promise<Ready | null> {
    const { chain_id: chainId, token, recipient_address: recipient } = this.checkout();
    const { wallet, account, route, built } = ready;
    const shown = { account, chainId, token, recipient, rawAmount: route.from.amount.raw };
    if (await wallet.matches(built.transaction, shown)) return ready;
    if (current()) this.go({ at: "blocked", wallet, account, notice: bad(copy.notices.mismatch) });
    return null;
  }

  /** Has the wallet prove that it is the payer's; null after showing why there is no proof. */
  private async prove(ready: Ready, current: () => boolean): Promise<Ready | null> {
    const { wallet, account, route, built } = ready;
    const reviewed: Reviewed = { wallet, account, route };
    const builtAt = this.now();
    this.go({ at: "proving", isSigned: false, ...reviewed });
    let signature: string;
    try {
      signature = await wallet.sign(account, built.payer_proof?.message ?? "");
    } catch (error) {
      if (current()) this.review(reviewed, proofNotice(error, wallet));
      return null;
    }
    if (!current()) return null;
    this.go({ at: "proving", isSigned: true, ...reviewed });
    try {
      await this.bringProof(route.id, account, signature, current);
    } catch (error) {
      if (!current()) return null;
      if (isExpiry(error)) await this.quote({ wallet, account }, current, info(copy.notices.proofTooLate));
      else this.review(reviewed, this.serverNotice(error));
      return null;
    }
    if (built.chain_type !== "solana" || this.now() - builtAt < FRESH_FOR_MS || !current()) return ready;
    return this.checked({ ...reviewed, built: await this.api.buildTransaction(route.id, "payer") }, current);
  }

  /** Tries again by itself while the server can't ask the chain about the wallet. */
  private async bringProof(routeId: string, account: string, signature: string, current: () => boolean): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.api.provePayer(routeId, account, signature);
      } catch (error) {
        const isWorthMore = error instanceof ApiError && error.isTemporary && attempt < PROOF_ATTEMPTS;
        if (!isWorthMore || !current()) throw error;
        await seconds(error.retryAfterSeconds ?? PROOF_PAUSE_SECONDS);
      }
    }
  }

  /** Whatever the customer does on the page meanwhile, a hash that the wallet returns is always kept. */
  private async confirm(ready: Ready, current: () => boolean): Promise<void> {
    const { wallet, account, route, built } = ready;
    this.go({ at: "confirming", hasProof: built.payer_proof !== null, wallet, account, route });
    this.events.promptOpened();
    try {
      const hash = await wallet.send(account, built.transaction);
      this.events.sent({ transaction_hash: hash, chain_id: this.checkout().chain_id, route_id: route.id });
      this.restart();
    } catch (error) {
      const refusal = refusalOf(error);
      // Other failures do not prove that nothing was sent, so the open prompt stays on record.
      if (["rejected", "unauthorized", "unsupported"].includes(refusal)) this.events.promptAnswered();
      if (current()) this.review({ wallet, account, route }, paymentNotice(error, wallet));
      else this.events.changed();
    }
  }

  private stopped(error: unknown, reviewed: Reviewed): void {
    if (refused(error)) {
      this.review(reviewed, walletNotice(error, reviewed.wallet));
    } else {
      const notice = this.serverNotice(error);
      this.go({ at: "blocked", wallet: reviewed.wallet, account: reviewed.account, notice });
    }
  }

  private serverNotice(error: unknown): Notice {
    if (!(error instanceof ApiError)) throw error;
    if (["payment_in_progress", "payment_request_not_active"].includes(error.code)) this.events.requestChanged();
    const wait = error.isTemporary ? error.retryAfterSeconds : null;
    return bad(wait ? copy.errors.retryIn(error.message, wait) : error.message);
  }

  private review({ wallet, account, route }: Reviewed, notice?: Notice): void {
    this.go({ at: "review", wallet, account, route, ...(notice ? { notice } : {}) });
  }

  private watch(wallet: Wallet): void {
    this.unwatch?.();
    this.unwatch = wallet.watch(
      (account) => this.accountChanged(wallet, account),
      (chainId) => this.chainChanged(chainId),
    );
  }

  private accountChanged(wallet: Wallet, account: string | null): void {
    // Once the wallet holds a transaction, its `from` is fixed.
    if (this.step.at === "confirming" || !("account" in this.step)) return;
    if (!account) {
      this.restart(info(copy.notices.walletGone));
    } else if (account.toLowerCase() !== this.step.account.toLowerCase()) {
      if (this.step.at === "switching" || this.step.at === "network") {
        this.step = { ...this.step, account };
        this.events.changed();
      } else {
        void this.quote({ wallet, account }, this.begin(), info(copy.notices.accountChanged));
      }
    }
  }

  private chainChanged(chainId: number): void {
    const { chain_id: wanted, chain } = this.checkout();
    if (this.step.at === "network" && chainId === wanted) {
      void this.resume();
    } else if (this.step.at === "review") {
      this.review(this.step, chainId === wanted ? undefined : info(copy.notices.wrongNetwork(chain.name)));
    }
  }

  private begin(): () => boolean {
    this.turn += 1;
    const mine = this.turn;
    return () => mine === this.turn;
  }

  private go(step: Step): void {
    const isOpen = step.at === "choose" || NEXT[this.step.at].includes(step.at);
    if (!isOpen) throw new Error(`No way from ${this.step.at} to ${step.at}`);
    this.step = step;
    this.events.changed();
  }
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
