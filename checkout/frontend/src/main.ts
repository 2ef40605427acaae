/**
 * The checkout page. The page connects the payment request's state with the payment flow, and selects the screen to
 * show.
 */

import { readChains, type Chains } from "./chains";
import { copy } from "./copy";
import { byId, enableCopyButtons } from "./dom";
import { Embedding, originsAround } from "./embedding";
import { parseChoice, type Choice } from "./flow/choice";
import { Flow } from "./flow/flow";
import type { At } from "./flow/states";
import { localTime } from "./language";
import { withoutMarks } from "./marks";
import { Amounts } from "./page/amounts";
import { BackButton } from "./page/back";
import { BatchWatch } from "./page/batches";
import { showConnection } from "./page/connection";
import { Countdown, ServerClock } from "./page/countdown";
import { destinationOf } from "./page/destination";
import { Finder } from "./page/finder";
import { LEAVE_AFTER_NOTICE_SECONDS, LEAVE_AFTER_SECONDS, Leaving } from "./page/leaving";
import { replaceBrokenLogo } from "./page/logo";
import { Refunds } from "./page/refunds";
import { Replacements } from "./page/replacements";
import { Signers } from "./page/signers";
import { UnderWay } from "./page/under-way";
import { WalletList, type Remote } from "./page/wallet-list";
import { batchNotice, batchScreen } from "./screens/batch";
import { paymentWarning } from "./screens/payment-warning";
import { withOpenPrompt, type OpenPrompt } from "./screens/open-prompt";
import * as outcomes from "./screens/outcomes";
import { Panel, type Screen } from "./screens/panel";
import { money, partialBox } from "./screens/parts";
import { payScreen } from "./screens/pay";
import { isSlow, tickEstimate } from "./screens/estimate";
import { isTakingLong, processingScreen, signedScreen, waitingScreen, type Following } from "./screens/progress";
import { Api, type ApiError } from "./server/api";
import * as batches from "./server/batches";
import { Delivery } from "./server/delivery";
import { Outbox, type OwnTransaction, type Sender, type SignedTransfer } from "./server/outbox";
import * as progress from "./server/progress";
import { StatusPoll } from "./server/status";
import type { Checkout, Payment, SentTransaction } from "./server/types";
import { shareModules } from "./shared";
import { onBlockedScript } from "./wallets/blocked";
import { RecentWallets } from "./wallets/recent";
import { offerOf, walletConnect } from "./walletconnect/entry";
import type { Wallet } from "./wallets/wallet";

const LATE_CHECK_MS = 15_000;
const AT_THE_WALLET: ReadonlySet<At> = new Set(["building", "approving", "proving", "confirming"]);

class CheckoutPage {
  private readonly root = byId("checkout");
  private readonly panel = new Panel(byId("panel"), byId("live"));
  private readonly clock: ServerClock;
  private readonly api: Api;
  private readonly chains: Chains;
  private readonly outbox: Outbox;
  private readonly recent: RecentWallets;
  private readonly flow: Flow;
  private readonly poll: StatusPoll;
  private readonly delivery: Delivery;
  private readonly countdown: Countdown;
  private readonly backButton: BackButton;
  private readonly embedding: Embedding;
  private readonly leaving: Leaving;
  private readonly finder: Finder;
  private readonly wallets: WalletList;
  private readonly replacements: Replacements;
  private readonly batchWatch: BatchWatch;
  private readonly signers = new Signers();
  private readonly refunds: Refunds;
  private readonly underWay: UnderWay;
  private readonly amounts = new Amounts();

  private isScriptBlocked = false;
  private isTimeUp = false;
  private wasInFlight = false;
  private wasCancelledHere = false;
  private dismissedFailure: string | null = null;
  private drawn = "";

  constructor(private checkout: Checkout) {
    this.clock = new ServerClock(checkout.server_time);
    this.api = new Api(checkout.id, (seconds) => {
      this.flow.waitsFor = seconds;
      this.render();
    });
    this.outbox = new Outbox(checkout.id);
    this.underWay = new UnderWay(this.outbox, () => this.checkout);
    this.recent = new RecentWallets(checkout.id);
    this.chains = readChains(document.getElementById("chains-data"), checkout);
    this.wallets = new WalletList(this.recent, {
      changed: () => this.walletsChanged(),
      returned: (wallet, choice) => this.resume(wallet, parseChoice(choice)),
      incomplete: () => this.flow.restart({ tone: "error", text: copy.notices.pageIncomplete }),
    });
    this.flow = new Flow({
      api: this.api,
      chains: this.chains,
      checkout: () => this.checkout,
      now: () => this.clock.now(),
      isStillDue: () => this.isStillDue(),
      siblingOf: (wallet) => this.wallets.siblingOf(wallet),
      offersSwaps: checkout.pay_with?.is_routed ?? false,
      mayBatch: () => batches.doubtful(this.outbox.batches) === null,
      choice: this.outbox,
      depositScript: this.root.dataset.deposit ?? "",
      payScript: this.root.dataset.pay ?? "",
      sponsoredScript: this.root.dataset.sponsored ?? "",
      events: {
        changed: () => this.render(),
        connected: (wallet) => this.recent.connected(wallet),
        chose: (choice) => this.recent.chose(choice),
        promptOpened: () => this.outbox.promptOpened(),
        promptAnswered: (prompt) => this.outbox.promptAnswered(prompt),
        choseAddress: () => this.recent.choseAddress(),
        sent: (transaction, by) => this.sent(transaction, by),
        batchOpened: (batch, by) => this.outbox.openBatch(batch, by),
        batchSent: (id, walletId) => this.batchSent(id, walletId),
        batchDropped: (id) => this.outbox.dropBatch(id),
        signed: (transfer) => this.signed(transfer),
        requestChanged: () => this.poll.now(),
      },
    });
    this.poll = new StatusPoll(
      this.api,
      checkout,
      document.getElementById("checkout")?.dataset["events"] ?? null,
      (next) => this.update(next),
      (isUp) => showConnection(isUp, (text) => this.panel.announce(text)),
    );
    this.delivery = new Delivery(this.api, this.outbox, () => this.render(), {
      delivered: () => this.poll.now(),
      refused: (sent, error) => this.refused(sent, copy.notices.refusedHash(error.message)),
      authorized: (signed, payment) => this.authorized(signed, payment),
      unauthorized: (signed, error) => this.unauthorized(signed, error),
    });
    this.countdown = new Countdown(byId("countdown"), this.clock, (text) => this.panel.announce(text), () => {
      this.isTimeUp = true;
      this.showAmounts();
      this.poll.now();
      this.render();
    });
    this.backButton = new BackButton({ depth: () => this.depth(), back: () => this.flow.back() });
    this.embedding = new Embedding(checkout.id, originsAround(), {
      panel: byId("panel"),
      url: checkout.payment_url,
    });
    // In an embedded checkout, the shop's page decides when to continue.
    this.leaving = new Leaving(!this.embedding.isFramed, () => this.render());
    const announce = (text: string): void => this.panel.announce(text);
    this.finder = new Finder(this.chains, announce, (transaction) => {
      this.outbox.enter(transaction);
      this.send(transaction);
    });
    this.refunds = new Refunds(checkout.refunds ?? [], announce);
    this.replacements = new Replacements(
      this.outbox,
      () => this.wallets.all,
      (sent) => progress.isReplaceable(sent, this.checkout.payments),
      { spedUp: (sent, hash) => this.spedUp(sent, hash), cancelled: (sent) => this.cancelledInWallet(sent) },
    );
    this.batchWatch = new BatchWatch(this.outbox, () => this.wallets.all, {
      isPromptShown: () => this.flow.step.at === "confirming",
      mined: (batch, hash) => this.batchMined(batch, hash),
      ended: (batch, hash) => this.batchEnded(batch, hash),
      changed: () => this.render(),
    });
    enableCopyButtons(this.root, copy.copied, announce);
  }

  start(): void {
    replaceBrokenLogo(this.checkout.merchant.name);
    byId("expires").textContent = localTime(this.checkout.expires_at);
    this.outbox.onOtherTab(() => {
      this.poll.now();
      this.signers.settleOthers(this.outbox.unsubmitted?.routeId);
      void this.delivery.run();
      this.render();
    });
    this.wasInFlight = this.underWay.isAny;
    const isByAddress = this.recent.wasByAddress || this.root.dataset.screen === "deposit";
    if (isByAddress && this.isPayable() && this.checkout.deposit_address) void this.flow.depositWay.choose();
    else if (this.isPayable() && !this.wasInFlight && !this.outbox.promptWasLeftOpen) this.wallets.awaitFormer();
    const offer = offerOf(this.root);
    const changed = (): void => this.render();
    const remote: Remote | null = offer && ((...given) => walletConnect(offer, this.checkout.merchant.name, changed, ...given));
    this.wallets.discover(this.chains, this.root.dataset.solana ?? "", this.flow.means.offersSwaps, remote);
    onBlockedScript(() => {
      this.isScriptBlocked = true;
      this.walletsChanged();
    });
    this.render();
    setInterval(() => this.render(), LATE_CHECK_MS);
    setInterval(tickEstimate, 1000);
    this.replacements.start();
    this.batchWatch.start();
    this.poll.start();
    void this.delivery.run();
  }

  private walletsChanged(): void {
    this.root.dataset.wallets = this.wallets.isAnyHere ? "some" : this.isWalletBlocked ? "blocked" : "none";
    this.render();
  }

  private get isWalletBlocked(): boolean {
    return this.isScriptBlocked && !this.wallets.isAnyHere;
  }

  /** After a reload, continue with the same wallet, unless the customer has already chosen one. */
  private resume(wallet: Wallet, choice: Choice | null): void {
    const isFree = this.root.dataset.screen === "choose" && this.flow.step.at === "choose";
    if (isFree) void this.flow.resume(wallet, choice);
  }

  private update(next: Checkout): void {
    const before = this.checkout;
    this.checkout = next;
    this.clock.set(next.server_time);
    if (before.deposit_address && !next.deposit_address) this.flow.depositWay.withdraw();
    byId("test-mark").hidden = !next.is_test;
    for (const payment of next.payments) {
      if (payment.status !== "failed" && payment.transaction_hash) this.outbox.settle(payment.transaction_hash);
    }
    for (const sent of [...this.outbox.own]) {
      const hash = progress.followed(sent, next.payments);
      if (hash) this.outbox.replace(sent.hash, hash);
    }
    // If a payment completes while the page is open, it counts as made here. It may come from another device.
    this.wasInFlight ||= this.underWay.isAny || (before.status === "active" && next.status === "completed");
    this.wasCancelledHere ||= before.status === "active" && next.status === "cancelled";
    if (next.status === "completed" && "wallet" in this.flow.step) this.flow.step.wallet.leave?.();
    const amounts = ({ status, amount_paid, amount_remaining, refunds, is_available }: Checkout): string =>
      JSON.stringify([status, amount_paid, amount_remaining, refunds, is_available]);
    if (amounts(next) !== amounts(before)) this.showAmounts();
    this.finder.follow(next.payments, this.underWay.warning);
    this.render();
  }

  /** Follow a transaction that a wallet on this page sent. */
  private sent(transaction: SentTransaction, by: Sender): void {
    this.outbox.remember(transaction, by);
    this.wasInFlight = true;
    void this.delivery.run();
    void this.replacements.check();
    this.render();
  }

  private batchSent(id: string, walletId: string): void {
    this.outbox.confirmBatch(id, walletId);
    this.wasInFlight = true;
    void this.batchWatch.check();
    this.render();
  }

  /** Submit the transaction of a batch, if no other tab has done so. */
  private batchMined({ id, chainId, routeId, by }: batches.Batch, hash: string): void {
    this.outbox.reread();
    if (!this.outbox.batches.some((batch) => batch.id === id)) return;
    this.outbox.dropBatch(id);
    this.sent({ transaction_hash: hash, chain_id: chainId, route_id: routeId }, by);
  }

  /**
   * Submit the transaction that may have paid, as if the customer had entered its hash. If it did not pay, the outcome
   * of the batch is still unknown.
   */
  private batchEnded(batch: batches.Batch, hash: string | null): void {
    const { tone, text } = batchNotice(batch);
    if (hash && !this.outbox.knows(hash)) this.send({ transaction_hash: hash, chain_id: batch.chainId, route_id: batch.routeId });
    if (batch.ended === "unsent" && this.flow.step.at === "choose") this.flow.restart({ tone, text });
    else this.panel.announce(text);
    this.render();
  }

  /** Submit a transfer that the customer signed. */
  private signed(transfer: SignedTransfer): Promise<ApiError | null> {
    this.outbox.sign(transfer);
    this.wasInFlight = true;
    const answer = this.signers.wait(transfer.routeId);
    void this.delivery.run();
    this.render();
    return answer;
  }

  private authorized({ routeId }: SignedTransfer, payment: Payment): void {
    this.outbox.authorized(routeId, payment.id);
    const { payments } = this.checkout;
    // Show the new payment until the next poll returns it.
    if (!payments.some(({ id }) => id === payment.id)) this.checkout = { ...this.checkout, payments: [payment, ...payments] };
    this.signers.settle(routeId, null);
    this.poll.now();
    this.render();
  }

  private unauthorized({ routeId }: SignedTransfer, error: ApiError): void {
    this.outbox.dropSigned(routeId);
    const isAnswered = this.signers.settle(routeId, error);
    // The customer signed before a reload of the page, so no step of the flow waits for the response.
    if (!isAnswered && this.flow.step.at === "choose") this.flow.restart(this.flow.serverNotice(error));
    this.render();
  }

  /** Submit a hash that the customer entered, or that should be checked again. */
  private send(transaction: SentTransaction): void {
    this.outbox.remember(transaction);
    void this.delivery.run();
    this.render();
  }

  private spedUp({ hash, chainId, routeId }: OwnTransaction, by: string): void {
    this.outbox.replace(hash, by);
    this.send({ transaction_hash: by, chain_id: chainId, ...(routeId ? { route_id: routeId } : {}) });
  }

  private cancelledInWallet({ hash }: OwnTransaction): void {
    this.outbox.cancel(hash);
    this.poll.now();
    this.render();
  }

  private refused({ transaction_hash: hash }: SentTransaction, text: string): void {
    const isOwn = this.outbox.isOwn(hash);
    this.outbox.drop(hash);
    if (!isOwn && this.finder.rejected(hash, text)) return this.render();
    // An error about the entered hash must not interrupt a payment in progress.
    if (isOwn || this.flow.step.at === "choose") this.flow.restart({ tone: "error", text });
    else this.panel.announce(text);
  }

  /** Whether the customer can send more to the deposit address while a part is under way. */
  private get awaitsRest(): boolean {
    const { step } = this.flow;
    return step.at === "deposit" && this.isPayable() && step.part.leftToSend(this.checkout, this.underWay.payments) !== null;
  }

  private isPayable(): boolean {
    return this.checkout.status === "active" && !this.isTimeUp;
  }

  /** Whether a payment is still due. The server and this browser's other tabs are checked now. */
  private async isStillDue(): Promise<boolean> {
    await this.poll.refresh();
    this.outbox.reread();
    this.render();
    return this.isPayable() && !this.underWay.isAny;
  }

  /** The number of steps back from this screen. While a payment is under way, it is 0. */
  private depth(): number {
    return this.isPayable() && !this.underWay.isAny ? this.flow.depth : 0;
  }

  private openPrompt(): OpenPrompt {
    if (this.flow.isPromptOpen) return "here";
    return this.outbox.promptWasLeftOpen ? "unanswered" : null;
  }

  private screen(): Screen {
    const { checkout, chains } = this;
    const following = { checkout, chains, now: this.clock.now(), estimate: this.underWay.estimate };
    const { secondsLeft } = this.leaving;
    const stay = (): void => this.leaving.stay();
    if (checkout.status === "completed") return outcomes.completedScreen(checkout, chains, this.leaving, stay);
    const open = this.underWay.payment;
    if (open && !this.awaitsRest) return processingScreen(open, following);
    const awaited = this.underWay.awaited;
    if (awaited) return this.waiting(awaited, following);
    const batch = this.underWay.batch;
    if (batch) return batchScreen(batch, () => this.stopAwaiting(batch));
    if (this.outbox.unsubmitted) return signedScreen(this.delivery.isRetrying, following);
    const warning = this.underWay.warning;
    const checkAgain = ({ transaction_hash: hash, chain_id }: Payment): void => {
      if (hash) this.send({ transaction_hash: hash, chain_id });
    };
    const warned = { enterHash: () => this.finder.open(), checkAgain };
    const isMine = this.outbox.isMine(warning?.payment.transaction_hash ?? "");
    const unbound = this.underWay.unbound;
    const late = unbound && paymentWarning(unbound, checkout, chains, warned, isMine);
    if (checkout.status === "cancelled") return outcomes.cancelledScreen(checkout, secondsLeft, stay, late);
    if (checkout.status === "expired") return outcomes.expiredScreen(checkout, late);
    const failed = warning && this.underWay.isOwnFailure(warning) ? warning.payment : null;
    if (failed && failed.id !== this.dismissedFailure && this.flow.step.at === "choose") {
      return outcomes.failedScreen(failed, checkout, chains, {
        payAgain: () => this.dismiss(failed.id),
        checkAgain: () => checkAgain(failed),
      });
    }
    if (this.isTimeUp) return outcomes.timeUpScreen();
    const warningElement = warning && !failed ? paymentWarning(warning, checkout, chains, warned, isMine) : null;
    // Don't interrupt an open prompt of the wallet. The customer may be signing.
    if (checkout.is_available === false && !AT_THE_WALLET.has(this.flow.step.at)) {
      return outcomes.unavailableScreen(checkout, [partialBox(checkout), warningElement]);
    }
    return payScreen(this.flow.step, {
      checkout,
      chains,
      wallets: this.wallets.all,
      walletsSettled: this.wallets.isSettled,
      lastUsed: this.recent.last?.name ?? null,
      missing: this.wallets.missing,
      isWalletBlocked: this.isWalletBlocked,
      promptWasLeftOpen: this.outbox.promptWasLeftOpen,
      batch: batches.doubtful(this.outbox.batches),
      warning: warningElement,
      underWay: this.underWay.payments,
      flow: this.flow,
    });
  }

  private waiting(sent: OwnTransaction, following: Following): Screen {
    const isUnsent = this.outbox.unsent.some(({ transaction_hash: hash }) => hash === sent.hash);
    const payAgain = (): void => {
      this.outbox.letGo(sent.hash);
      this.render();
    };
    const offered = progress.mayLetGo(sent) ? payAgain : null;
    return waitingScreen(sent, { isUnsent, isRetrying: this.delivery.isRetrying, payAgain: offered }, following);
  }

  private stopAwaiting({ id }: batches.Batch): void {
    this.outbox.endBatch(id, "lost");
    this.render();
  }

  private render(): void {
    const isNoticeFirst = outcomes.isPaidTooMuch(this.checkout) || this.outbox.promptWasLeftOpen;
    this.leaving.towards(this.destination(), isNoticeFirst ? LEAVE_AFTER_NOTICE_SECONDS : LEAVE_AFTER_SECONDS);
    this.refunds.show(this.checkout.refunds ?? []);
    const estimate = this.underWay.estimate;
    // Redraw only on a visible change: a redraw interrupts keyboard and screen reader users.
    const signature = JSON.stringify(
      [
        this.checkout,
        this.flow.step,
        this.flow.balances?.version,
        this.flow.isRoutingDown,
        this.flow.isSlow,
        this.flow.waitsFor,
        this.checkout.payments.some((payment) => isTakingLong(payment, this.chains, this.clock.now())),
        estimate !== null && isSlow(estimate),
        this.wallets.all.map(({ id, sibling }) => [id, sibling !== undefined]),
        this.wallets.isSettled,
        this.isWalletBlocked,
        this.outbox.unsent,
        this.outbox.unsubmitted?.routeId,
        this.outbox.own,
        this.outbox.own.map(progress.mayLetGo),
        this.outbox.batches.map((batch) => [batch, batches.mayLetGo(batch)]),
        this.flow.asksOnce,
        this.openPrompt(),
        this.delivery.isRetrying,
        this.isTimeUp,
        this.leaving.secondsLeft,
        this.dismissedFailure,
      ],
      (key, value: unknown) => (key === "server_time" ? undefined : value),
    );
    if (signature === this.drawn) return;
    this.drawn = signature;
    const screen = withOpenPrompt(this.screen(), this.openPrompt());
    this.panel.show(screen);
    const { state } = this.underWay;
    const isChanged = this.root.dataset.state !== state;
    this.root.dataset.state = state;
    if (isChanged) this.showAmounts();
    this.root.dataset.screen = screen.name;
    const title = [screen.heading, money(this.checkout.amount, this.checkout), this.checkout.merchant.name].join(" · ");
    document.title = withoutMarks(title);
    this.embedding.tell(state, screen.name === "confirming" || this.flow.isPaymentOpen || this.underWay.isExpected);
    this.countdown.towards(this.isPayable() && !this.underWay.isAny ? this.checkout.expires_at : null);
    this.countdown.drawBeside();
    this.backButton.update();
  }

  private showAmounts(): void {
    this.amounts.show(this.checkout, this.underWay.isAny || this.isTimeUp);
  }

  private dismiss(paymentId: string): void {
    this.dismissedFailure = paymentId;
    this.render();
  }

  /** The shop's URL if the page should redirect there. */
  private destination(): string | null {
    // The customer must decline the open wallet prompt first.
    if (this.flow.isPromptOpen) return null;
    return destinationOf(this.checkout, this.underWay, {
      wasPaidHere: this.wasInFlight || this.outbox.hasSent,
      wasCancelledHere: this.wasCancelledHere,
    });
  }
}

shareModules();
const data = JSON.parse(byId("checkout-data").textContent ?? "") as Checkout;
new CheckoutPage(data).start();
