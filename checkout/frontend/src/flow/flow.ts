/** A state machine from the choice of a wallet to the review of a payment. Each state has a screen. */

import { copy } from "../copy";
import { DepositWay } from "../deposit/entry";
import { ApiError } from "../server/api";
import type { Route } from "../server/types";
import { SponsoredWay } from "../sponsored/entry";
import { refusalOf } from "../wallets/refusals";
import type { Wallet } from "../wallets/wallet";
import { choiceOf, isSame, type Choice } from "./choice";
import { Balances, type Option } from "./balances";
import type { Batching } from "./batching";
import { bad, connectionNotice, info, type Notice } from "./notices";
import type { Paying } from "./paying";
import { RouteCache } from "./route-cache";
import type { Means, PromptKind, Stage } from "./stage";
import { NEXT, type At, type Chosen, type Connected, type Reviewed, type Step } from "./states";

/** The exports of the script for a connected wallet that the flow uses. The script also exports screens. */
interface PayPart {
  Batching: typeof Batching;
  Paying: typeof Paying;
}

/** If the wallet has not responded after this time, the page shows where its prompt may be hidden. */
const SLOW_AFTER_MS = 12_000;
const LACKING: ReadonlySet<string> = new Set(["insufficient_funds", "insufficient_gas"]);
const ASKING: readonly At[] = ["connecting", "switching", "approving", "proving", "confirming"];

export class Flow implements Stage {
  step: Step = { at: "choose" };
  balances: Balances | null = null;
  /** Whether the last request for routes failed. */
  isRoutingDown = false;
  /** The customer's search text in the token list. */
  filter = "";
  /** Whether a wallet's prompt has been open for a long time. */
  isSlow = false;
  /** Seconds until the next request to a busy server, or null if none is scheduled. */
  waitsFor: number | null = null;
  readonly routeCache: RouteCache;
  readonly depositWay: DepositWay;
  readonly sponsoredWay: SponsoredWay;
  /** The script for a connected wallet, or null until it is loaded. */
  part: PayPart | null = null;
  private batching: Batching | null = null;
  private paying: Paying | null = null;
  private readonly openPrompts: Record<PromptKind, number> = { payment: 0, other: 0 };
  private turn = 0;
  /**
   * Whether the page has shown the list of this wallet's tokens. If the page showed the review of the requested token
   * before the list, `reviewedFirst` is that token.
   */
  private hasShownTokens = false;
  private reviewedFirst: Option | null = null;
  private unwatch: (() => void) | null = null;
  private slowTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(readonly means: Means) {
    this.routeCache = new RouteCache(means.api, means.checkout, means.now);
    this.depositWay = new DepositWay(this, means);
    this.sponsoredWay = new SponsoredWay(this, means);
  }

  /** Whether a prompt of the wallet is open. A prompt stays open after the customer has left the screen. */
  get isPromptOpen(): boolean {
    return this.isPaymentOpen || this.openPrompts.other > 0;
  }

  get isPaymentOpen(): boolean {
    return this.openPrompts.payment > 0;
  }

  /** Whether the wallet will probably show only one prompt for the reviewed payment and its approval. */
  get asksOnce(): boolean {
    return this.step.at === "review" && this.batching?.asksOnce(this.step) === true;
  }

  async prompted<T>(kind: PromptKind, answer: Promise<T>): Promise<T> {
    this.openPrompts[kind] += 1;
    try {
      return await answer;
    } finally {
      this.openPrompts[kind] -= 1;
      this.means.events.changed();
    }
  }

  /** Go back to the list of wallets. If the customer then confirms an open prompt, `Paying` still stores the hash. */
  restart(notice?: Notice): void {
    this.turn += 1;
    this.unwatch?.();
    this.unwatch = null;
    this.means.events.connected(null);
    if ("wallet" in this.step) this.step.wallet.leave?.();
    this.go({ at: "choose", ...(notice ? { notice } : {}) });
  }

  /** Connect the wallet that the customer chose. */
  async choose(wallet: Wallet): Promise<void> {
    const current = this.begin();
    this.go({ at: "connecting", wallet });
    void this.load();
    try {
      const account = await wallet.connect();
      if (current()) await this.enter({ wallet, account }, current);
    } catch (error) {
      if (!current()) return;
      this.restart(connectionNotice(error, wallet));
      if (refusalOf(error) === "already_asking") this.awaitOpenPrompt(wallet);
    }
  }

  /** After a reload, continue with the same wallet and token, if the wallet still shares an account. */
  async resume(wallet: Wallet, choice: Choice | null): Promise<void> {
    const current = this.begin();
    const [account] = await wallet.accounts().catch(() => []);
    if (account && current() && this.step.at === "choose") await this.enter({ wallet, account }, current, choice);
  }

  /** Switch to the same wallet's account on the other chain family. */
  async changeFamily(): Promise<void> {
    const sibling = this.step.at === "tokens" && this.means.siblingOf(this.step.wallet);
    if (sibling) await this.choose(sibling);
  }

  /** Show all tokens that the connected wallet can pay with. */
  showTokens(notice?: Notice, isRefresh = false): void {
    if (!("account" in this.step)) return;
    const { wallet, account } = this.step;
    if ("option" in this.step && !this.isBelowTokens(this.step)) this.reviewedFirst = this.step.option;
    this.turn += 1;
    this.isRoutingDown = false;
    this.means.events.chose(null);
    this.go({ at: "tokens", wallet, account, ...(notice ? { notice } : {}) });
    void this.balances?.load(isRefresh);
  }

  /** Quote the token that the customer chose. */
  async pick(option: Option): Promise<void> {
    if (!("account" in this.step)) return;
    const { wallet, account } = this.step;
    await this.quote({ wallet, account, option }, this.begin());
  }

  /** Repeat the failed quote. */
  async retry(): Promise<void> {
    if (this.step.at === "blocked") await this.pick(this.step.option);
  }

  /** Review the route that the customer chose. */
  take(route: Route): void {
    // New routes may have replaced the list while the button was pressed.
    if (this.step.at !== "routes" || !this.step.routes.includes(route)) return;
    const { wallet, account, option, routes } = this.step;
    this.means.events.chose(choiceOf(option, route));
    this.review({ wallet, account, option, route, routes });
  }

  /** Go from the review of one route back to the comparison. */
  compare({ route, routes }: Reviewed): void {
    if (this.step.at !== "review" || this.step.route !== route || !routes) return;
    const { wallet, account, option } = this.step;
    this.turn += 1;
    this.go({ at: "routes", wallet, account, option, routes });
  }

  /** Pay by the reviewed route. Do nothing if the review now shows a different route. */
  async pay({ account, route }: Reviewed): Promise<void> {
    const { step } = this;
    if (step.at === "review" && step.account === account && step.route === route) await this.paying?.start(step);
  }

  /**
   * Return to the review because the customer can't find the wallet's prompt. The customer can still confirm the prompt
   * later.
   */
  leavePrompt(): void {
    const { step } = this;
    const isAsking =
      step.at === "confirming" || step.at === "proving" || step.at === "approving" || step.at === "switching";
    if (!isAsking) return;
    this.turn += 1;
    const isMining = step.at === "approving" && step.isMining;
    const at = step.route.sponsored ? "proving" : step.at;
    this.review(step, info(isMining ? copy.notices.stoppedWaiting : copy.notices.leftOpen[at]));
  }

  /** The number of steps back to the list of wallets. */
  get depth(): number {
    const { step } = this;
    if (step.at === "choose") return 0;
    const tokens = this.reviewedFirst ? 2 : 1;
    if (!("option" in step)) return step.at === "tokens" ? tokens : 1;
    const review = this.isBelowTokens(step) ? tokens + 1 : 1;
    return ["quoting", "blocked", "review"].includes(step.at) ? review : review + 1;
  }

  /** Go one step back: from a prompt to the review, then to the tokens if they were shown, then to the wallets. */
  back(): void {
    const { step, reviewedFirst } = this;
    if (step.at === "tokens" && reviewedFirst) {
      this.forgetTokens();
      void this.pick(reviewedFirst);
      return;
    }
    if (!("option" in step)) return this.restart();
    if (step.at === "routes") {
      const [route] = step.routes;
      if (route) this.take(route);
    } else if (step.at === "building") {
      this.turn += 1;
      this.review(step);
    } else if (["quoting", "blocked", "review"].includes(step.at)) {
      if (this.isBelowTokens(step)) this.showTokens();
      else this.restart();
    } else {
      this.leavePrompt();
    }
  }

  private forgetTokens(): void {
    this.hasShownTokens = false;
    this.reviewedFirst = null;
  }

  private isBelowTokens({ option }: Chosen): boolean {
    return this.hasShownTokens || !option.isRequested;
  }

  /**
   * Load routes for the chosen token. Review the route with the tag `tag`. If no route has this tag, review the
   * recommended route.
   */
  async quote(chosen: Chosen, current: () => boolean, notice?: Notice, tag = ""): Promise<void> {
    const { wallet, account, option } = chosen;
    this.means.events.chose(choiceOf(option));
    this.go({ at: "quoting", wallet, account, option });
    try {
      const [offered] = await Promise.all([this.routeCache.find(account, option), this.sponsoredWay.load()]);
      if (!current()) return;
      if (typeof offered === "string") return this.blocked(chosen, bad(offered), option.isRequested);
      const routes = this.sponsoredWay.usable(offered, wallet);
      const route = this.sponsoredWay.preferred(routes, tag);
      if (!route) return;
      this.review({ wallet, account, option, route, routes }, notice);
      this.means.events.chose(choiceOf(option, route));
      if (route.type !== "direct") void this.batching?.learn(chosen);
      // With the balances, the review can show that the wallet has too little.
      void this.balances?.ensure(option.chainId);
    } catch (error) {
      if (current()) this.unquoted(chosen, error);
    }
  }

  review({ wallet, account, option, route, routes, binding }: Reviewed, notice?: Notice): void {
    const offered = { ...(routes ? { routes } : {}), ...(binding ? { binding } : {}) };
    this.go({ at: "review", wallet, account, option, route, ...offered, ...(notice ? { notice } : {}) });
  }

  blocked({ wallet, account, option }: Chosen, notice: Notice, canRetry = true): void {
    this.go({ at: "blocked", wallet, account, option, notice, canRetry });
  }

  /** Return the notice for a server error. If the error means that the request has changed, reload the request. */
  serverNotice(error: unknown): Notice {
    if (!(error instanceof ApiError)) throw error;
    if (["payment_in_progress", "payment_request_not_active"].includes(error.code)) {
      this.means.events.requestChanged();
    }
    const wait = error.isTemporary ? error.retryAfterSeconds : null;
    const notice = bad(wait ? copy.errors.retryIn(error.message, wait) : error.message);
    return LACKING.has(error.code) ? { ...notice, isLacking: true } : notice;
  }

  go(step: Step): void {
    const isOpen = step.at === "choose" || NEXT[this.step.at].includes(step.at);
    if (!isOpen) throw new Error(`No way from ${this.step.at} to ${step.at}`);
    this.step = step;
    if (step.at === "tokens") this.hasShownTokens = true;
    else if (!("option" in step)) this.forgetTokens();
    const isAnswered = ("isMining" in step && step.isMining) || ("isSigned" in step && step.isSigned);
    this.expectAnswer(ASKING.includes(step.at) && !isAnswered);
    this.means.events.changed();
  }

  private expectAnswer(isPromptOpen: boolean): void {
    if (this.slowTimer !== null) clearTimeout(this.slowTimer);
    this.isSlow = false;
    const onTimeout = (): void => {
      this.isSlow = true;
      this.means.events.changed();
    };
    this.slowTimer = isPromptOpen ? setTimeout(onTimeout, SLOW_AFTER_MS) : null;
  }

  /**
   * Cancel the current operation and start a new one. The returned function tells whether the new one is still current.
   */
  begin(): () => boolean {
    this.turn += 1;
    const mine = this.turn;
    return () => mine === this.turn;
  }

  /** If the wallet has enough of the requested token, go to the review. Otherwise show all tokens. */
  private async look(
    connected: Connected,
    current: () => boolean,
    notice?: Notice,
    choice: Choice | null = null,
  ): Promise<void> {
    const { wallet, account } = connected;
    this.go({ at: "looking", wallet, account });
    const { api, checkout, chains, events, offersSwaps } = this.means;
    this.balances = new Balances(api, account, checkout, () => events.changed());
    this.filter = "";
    const isNative = wallet.family === chains.requested.chain_type;
    if (choice && offersSwaps) return this.restoreChoice(connected, choice, current);
    const isEnough = isNative && (!offersSwaps || ((await this.balances.hasRequested()) ?? true));
    if (!current()) return;
    const [requested] = this.balances.options(isNative);
    if (isEnough && requested) await this.quote({ wallet, account, option: requested }, current, notice);
    else this.showTokens(notice);
  }

  /** Load the script for a connected wallet. Return false if it can't be loaded. */
  private async load(): Promise<boolean> {
    // The file name may contain a digest, so the server provides it.
    const part = this.part ?? (await (import(this.means.payScript) as Promise<PayPart>).catch(() => null));
    if (!part || this.part) return part !== null;
    const batching = new part.Batching(this, this.means);
    Object.assign(this, { part, batching, paying: new part.Paying(this, this.means, batching) });
    return true;
  }

  private async enter(connected: Connected, current: () => boolean, choice: Choice | null = null): Promise<void> {
    const isLoaded = await this.load();
    if (!current()) return;
    if (!isLoaded) return this.restart(bad(copy.notices.pageIncomplete));
    this.means.events.connected(connected.wallet);
    this.watch(connected.wallet);
    await this.look(connected, current, undefined, choice);
  }

  /** Quote the token that was chosen before the reload. If its balance is now too low, show all tokens. */
  private async restoreChoice(connected: Connected, choice: Choice, current: () => boolean): Promise<void> {
    const { balances } = this;
    await balances?.load(false);
    if (!current()) return;
    const option = balances?.options(false).find((one) => isSame(choice, one) && one.isEnough);
    if (option) await this.quote({ ...connected, option }, current, undefined, choice.tag);
    else this.showTokens();
  }

  /** The wallet already shows a prompt to connect. Continue when the customer confirms it. */
  private awaitOpenPrompt(wallet: Wallet): void {
    const current = this.begin();
    this.unwatch = wallet.watch({
      account: (account) => void (account && current() && this.enter({ wallet, account }, current)),
      chain: () => undefined,
      offline: () => undefined,
    });
  }

  private unquoted(chosen: Chosen, error: unknown): void {
    const { option } = chosen;
    const notice = this.serverNotice(error);
    if (option.isRequested || (error as ApiError).code !== "routing_unavailable") return this.blocked(chosen, notice);
    this.isRoutingDown = true;
    this.go({ at: "tokens", wallet: chosen.wallet, account: chosen.account });
  }

  private watch(wallet: Wallet): void {
    this.unwatch?.();
    this.unwatch = wallet.watch({
      account: (account) => this.accountChanged(wallet, account),
      chain: (chainId) => this.chainChanged(chainId),
      offline: () => this.step.at === "review" && this.review(this.step, bad(copy.notices.disconnected)),
    });
  }

  /** Check before each prompt whether the wallet still uses the reviewed account. */
  async holds({ wallet, account }: Connected, current: () => boolean): Promise<boolean> {
    const shown = wallet.family === "evm" ? await wallet.accounts() : [account];
    if (!current()) return false;
    if (shown.some((one) => one.toLowerCase() === account.toLowerCase())) return true;
    this.accountChanged(wallet, shown[0] ?? null);
    return false;
  }

  private accountChanged(wallet: Wallet, account: string | null): void {
    // In "confirming", the wallet already has the transaction. So the account of this payment can't change any more.
    if (this.step.at === "confirming" || !("account" in this.step)) return;
    if (!account) {
      this.restart(info(copy.notices.walletGone));
    } else if (account.toLowerCase() !== this.step.account.toLowerCase()) {
      void this.look({ wallet, account }, this.begin(), info(copy.notices.accountChanged));
    }
  }

  private chainChanged(chainId: number): void {
    if (this.step.at !== "review") return;
    const requiredId = this.step.option.chainId;
    const name = this.means.chains.name(requiredId);
    this.review(this.step, chainId === requiredId ? undefined : info(copy.notices.wrongNetwork(name)));
  }
}
