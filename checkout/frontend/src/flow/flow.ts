/** From choosing a wallet to the review of a payment: a state machine with one state per screen. */

import { copy } from "../copy";
import { ApiError } from "../server/api";
import type { Route } from "../server/types";
import { refusalOf } from "../wallets/refusals";
import type { Wallet } from "../wallets/wallet";
import { choiceOf, isSame, type Choice } from "./choice";
import { Holdings, type Option } from "./holdings";
import { bad, connectionNotice, info, type Notice } from "./notices";
import { Paying } from "./paying";
import { RouteBook } from "./route-book";
import type { Means, Stage } from "./stage";
import { NEXT, type At, type Chosen, type Connected, type Reviewed, type Step } from "./states";

/** Once a wallet has kept its owner waiting for so long, the page says where its question may be hiding. */
const SLOW_AFTER_MS = 15_000;
const ASKING: readonly At[] = ["connecting", "switching", "approving", "proving", "confirming"];

export class Flow implements Stage {
  step: Step = { at: "choose" };
  holdings: Holdings | null = null;
  /** Whether routes could not be asked for when that was last tried. */
  isRoutingDown = false;
  /** What the customer has typed to find a token. */
  filter = "";
  /** Whether a wallet has been asking for long. */
  isSlow = false;
  /** In how many seconds a busy server is asked again; null while it is not waited for. */
  waitsFor: number | null = null;
  readonly book: RouteBook;
  private readonly paying: Paying;
  private turn = 0;
  private unwatch: (() => void) | null = null;
  private slowness: ReturnType<typeof setTimeout> | null = null;

  constructor(readonly means: Means) {
    this.book = new RouteBook(means.api, means.checkout, means.now);
    this.paying = new Paying(this, means);
  }

  /** Back to the list of wallets. An answer that a wallet still gives is not lost: see `Paying`. */
  restart(notice?: Notice): void {
    this.turn += 1;
    this.unwatch?.();
    this.unwatch = null;
    this.means.events.connected(null);
    if ("wallet" in this.step) this.step.wallet.leave?.();
    this.go({ at: "choose", ...(notice ? { notice } : {}) });
  }

  /** The customer chose a wallet. */
  async choose(wallet: Wallet): Promise<void> {
    const current = this.begin();
    this.go({ at: "connecting", wallet });
    try {
      const account = await wallet.connect();
      if (current()) await this.enter({ wallet, account }, current);
    } catch (error) {
      if (!current()) return;
      this.restart(connectionNotice(error, wallet));
      if (refusalOf(error) === "already_asking") this.awaitOldQuestion(wallet);
    }
  }

  /** Continues with the wallet and the token from before the reload, if the wallet still shows an account. */
  async resume(wallet: Wallet, choice: Choice | null): Promise<void> {
    const current = this.begin();
    const [account] = await wallet.accounts().catch(() => []);
    if (account && current() && this.step.at === "choose") await this.enter({ wallet, account }, current, choice);
  }

  /** To the same wallet's account on the other family of networks. */
  async changeFamily(): Promise<void> {
    const sibling = this.step.at === "tokens" && this.means.siblingOf(this.step.wallet);
    if (sibling) await this.choose(sibling);
  }

  /** All that the connected wallet can pay with. */
  showTokens(notice?: Notice, isAskedAnew = false): void {
    if (!("account" in this.step)) return;
    const { wallet, account } = this.step;
    this.turn += 1;
    this.isRoutingDown = false;
    this.means.events.chose(null);
    this.go({ at: "tokens", wallet, account, ...(notice ? { notice } : {}) });
    void this.holdings?.load(isAskedAnew);
  }

  /** The customer chose what to pay with. */
  async pick(option: Option): Promise<void> {
    if (!("account" in this.step)) return;
    const { wallet, account } = this.step;
    await this.quote({ wallet, account, option }, this.begin());
  }

  /** Asks again for what could not be had. */
  async retry(): Promise<void> {
    if (this.step.at === "blocked") await this.pick(this.step.option);
  }

  /** The customer chose one of several routes. */
  take(route: Route): void {
    // Other routes may have been found while the button was pressed.
    if (this.step.at !== "routes" || !this.step.routes.includes(route)) return;
    const { wallet, account, option, routes } = this.step;
    this.means.events.chose(choiceOf(option, route));
    this.review({ wallet, account, option, route, routes });
  }

  /** From the review of one route to both of them. */
  compare({ route, routes }: Reviewed): void {
    if (this.step.at !== "review" || this.step.route !== route || !routes) return;
    const { wallet, account, option } = this.step;
    this.turn += 1;
    this.go({ at: "routes", wallet, account, option, routes });
  }

  /** From the review: have the wallet do what was shown, unless another payment is under review by now. */
  async pay({ account, route }: Reviewed): Promise<void> {
    const { step } = this;
    if (step.at === "review" && step.account === account && step.route === route) await this.paying.start(step);
  }

  /** The customer cannot find the wallet's prompt: the review again, while its answer is still awaited. */
  leavePrompt(): void {
    const { step } = this;
    const isAsking =
      step.at === "confirming" || step.at === "proving" || step.at === "approving" || step.at === "switching";
    if (!isAsking) return;
    this.turn += 1;
    const isMining = step.at === "approving" && step.isMining;
    this.review(step, info(isMining ? copy.notices.stoppedWaiting : copy.notices.leftOpen[step.at]));
  }

  /** Routes for what was chosen, and the review of one: that with the tag, or the recommended one. */
  async quote(chosen: Chosen, current: () => boolean, notice?: Notice, tag = ""): Promise<void> {
    const { wallet, account, option } = chosen;
    this.means.events.chose(choiceOf(option));
    this.go({ at: "quoting", wallet, account, option });
    try {
      const found = await this.book.find(account, option);
      if (!current()) return;
      if (typeof found === "string") return this.blocked(chosen, bad(found), option.isRequested);
      const taken = found.find(({ tags }) => tags.includes(tag)) ?? found[0];
      if (!taken) return;
      this.review({ wallet, account, option, route: taken, routes: found }, notice);
      this.means.events.chose(choiceOf(option, taken));
    } catch (error) {
      if (current()) this.unquoted(chosen, error);
    }
  }

  review({ wallet, account, option, route, routes }: Reviewed, notice?: Notice): void {
    const offered = routes ? { routes } : {};
    this.go({ at: "review", wallet, account, option, route, ...offered, ...(notice ? { notice } : {}) });
  }

  blocked({ wallet, account, option }: Chosen, notice: Notice, canRetry = true): void {
    this.go({ at: "blocked", wallet, account, option, notice, canRetry });
  }

  /** The server's refusal in the customer's words; reloads the request where it has changed. */
  serverNotice(error: unknown): Notice {
    if (!(error instanceof ApiError)) throw error;
    if (["payment_in_progress", "payment_request_not_active"].includes(error.code)) {
      this.means.events.requestChanged();
    }
    const wait = error.isTemporary ? error.retryAfterSeconds : null;
    return bad(wait ? copy.errors.retryIn(error.message, wait) : error.message);
  }

  go(step: Step): void {
    const isOpen = step.at === "choose" || NEXT[this.step.at].includes(step.at);
    if (!isOpen) throw new Error(`No way from ${this.step.at} to ${step.at}`);
    this.step = step;
    const isAnswered = ("isMining" in step && step.isMining) || ("isSigned" in step && step.isSigned);
    this.expectAnswer(ASKING.includes(step.at) && !isAnswered);
    this.means.events.changed();
  }

  private expectAnswer(isAsked: boolean): void {
    if (this.slowness !== null) clearTimeout(this.slowness);
    this.isSlow = false;
    const tell = (): void => {
      this.isSlow = true;
      this.means.events.changed();
    };
    this.slowness = isAsked ? setTimeout(tell, SLOW_AFTER_MS) : null;
  }

  /** Ends what was under way; whether the answer that is awaited now is still wanted when it comes. */
  begin(): () => boolean {
    this.turn += 1;
    const mine = this.turn;
    return () => mine === this.turn;
  }

  /** Straight to the review if the wallet holds the requested token; otherwise a choice of tokens. */
  private async look(
    connected: Connected,
    current: () => boolean,
    notice?: Notice,
    choice: Choice | null = null,
  ): Promise<void> {
    const { wallet, account } = connected;
    this.go({ at: "looking", wallet, account });
    const { api, checkout, chains, events, offersSwaps } = this.means;
    this.holdings = new Holdings(api, account, checkout, () => events.changed());
    this.filter = "";
    const isNative = wallet.family === chains.requested.chain_type;
    if (choice && offersSwaps) return this.chooseAgain(connected, choice, current);
    const isEnough = isNative && (!offersSwaps || ((await this.holdings.hasRequested()) ?? true));
    if (!current()) return;
    const [requested] = this.holdings.options(isNative);
    if (isEnough && requested) await this.quote({ wallet, account, option: requested }, current, notice);
    else this.showTokens(notice);
  }

  private async enter(connected: Connected, current: () => boolean, choice: Choice | null = null): Promise<void> {
    this.means.events.connected(connected.wallet);
    this.watch(connected.wallet);
    await this.look(connected, current, undefined, choice);
  }

  /** Back to the token that was chosen before the reload, or to all tokens where its balance is too low now. */
  private async chooseAgain(connected: Connected, choice: Choice, current: () => boolean): Promise<void> {
    const { holdings } = this;
    await holdings?.load(false);
    if (!current()) return;
    const option = holdings?.options(false).find((one) => isSame(choice, one) && one.isEnough);
    if (option) await this.quote({ ...connected, option }, current, undefined, choice.tag);
    else this.showTokens();
  }

  /** The customer may answer the prompt that is already open, which is enough. */
  private awaitOldQuestion(wallet: Wallet): void {
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

  /** Before its owner is asked for anything: whether the wallet still shows the account that was reviewed. */
  async holds({ wallet, account }: Connected, current: () => boolean): Promise<boolean> {
    const shown = wallet.family === "evm" ? await wallet.accounts() : [account];
    if (!current()) return false;
    if (shown.some((one) => one.toLowerCase() === account.toLowerCase())) return true;
    this.accountChanged(wallet, shown[0] ?? null);
    return false;
  }

  private accountChanged(wallet: Wallet, account: string | null): void {
    // Once the wallet holds a transaction, its `from` is fixed.
    if (this.step.at === "confirming" || !("account" in this.step)) return;
    if (!account) {
      this.restart(info(copy.notices.walletGone));
    } else if (account.toLowerCase() !== this.step.account.toLowerCase()) {
      void this.look({ wallet, account }, this.begin(), info(copy.notices.accountChanged));
    }
  }

  private chainChanged(chainId: number): void {
    if (this.step.at !== "review") return;
    const wanted = this.step.option.chainId;
    const name = this.means.chains.name(wanted);
    this.review(this.step, chainId === wanted ? undefined : info(copy.notices.wrongNetwork(name)));
  }
}
