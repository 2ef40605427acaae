/**
 * The checkout page. The page connects the payment request's state with the payment flow, and selects the screen to
 * show.
 */

import { readChains, type Chains } from "./chains";
import { copy } from "./copy";
import { byId, enableCopyButtons, webUrl } from "./dom";
import { Embedding, originsAround } from "./embedding";
import { parseChoice, type Choice } from "./flow/choice";
import { Flow } from "./flow/flow";
import type { At } from "./flow/states";
import { localTime } from "./language";
import { withoutMarks } from "./marks";
import { isZero, plain } from "./money";
import { BackButton } from "./page/back";
import { BatchWatch } from "./page/batches";
import { Countdown, ServerClock } from "./page/countdown";
import { Finder } from "./page/finder";
import { LEAVE_AFTER_NOTICE_SECONDS, LEAVE_AFTER_SECONDS, Leaving } from "./page/leaving";
import { replaceBrokenLogo } from "./page/logo";
import { Refunds } from "./page/refunds";
import { Replacements } from "./page/replacements";
import { WalletList, type Remote } from "./page/wallet-list";
import { batchNotice, batchScreen } from "./screens/batch";
import { paymentWarning } from "./screens/payment-warning";
import { withOpenPrompt, type OpenPrompt } from "./screens/open-prompt";
import * as outcomes from "./screens/outcomes";
import { Panel, type Screen } from "./screens/panel";
import { money, paidSoFar, partialBox, partialText } from "./screens/parts";
import { payScreen } from "./screens/pay";
import { estimateOf, isSlow, tickEstimate, type Estimate } from "./screens/estimate";
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
const PRICE_LABELS: Readonly<Record<string, (merchant: string) => string>> = {
  completed: copy.paidTo,
  expired: () => copy.amount,
  cancelled: () => copy.amount,
};

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
  /** By route: the function that waits for the server's response to the signature. */
  private readonly signers = new Map<string, (answer: ApiError | null) => void>();
  private readonly refunds: Refunds;

  private readonly dueLabel = byId("amount-label").dataset["due"] ?? copy.amount;
  private isScriptBlocked = false;
  private isTimeUp = false;
  private wasInFlight = false;
  private wasCancelledHere = false;
  private dismissedFailure: string | null = null;
  private drawn = "";
  private countingTo: string | null = null;

  constructor(private checkout: Checkout) {
    this.clock = new ServerClock(checkout.server_time);
    this.api = new Api(checkout.id, (seconds) => {
      this.flow.waitsFor = seconds;
      this.render();
    });
    this.outbox = new Outbox(checkout.id);
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
      (isUp) => this.showConnection(isUp),
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
      // Another tab may have submitted a signature of this tab.
      for (const routeId of this.signers.keys()) if (this.outbox.unsubmitted?.routeId !== routeId) this.answer(routeId, null);
      void this.delivery.run();
      this.render();
    });
    this.wasInFlight = this.isInFlight();
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
    // If a payment completes while the page is open, it counts as made here, even if it came from another device.
    this.wasInFlight ||= this.isInFlight() || (before.status === "active" && next.status === "completed");
    this.wasCancelledHere ||= before.status === "active" && next.status === "cancelled";
    if (next.status === "completed" && "wallet" in this.flow.step) this.flow.step.wallet.leave?.();
    const amounts = ({ status, amount_paid, amount_remaining, refunds, is_available }: Checkout): string =>
      JSON.stringify([status, amount_paid, amount_remaining, refunds, is_available]);
    if (amounts(next) !== amounts(before)) this.showAmounts();
    this.finder.follow(next.payments, this.warning());
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
   * Submit the transaction that may have paid. The transaction doesn't count as this page's own: if it did not pay, the
   * outcome of the batch is still unknown.
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
    const answer = new Promise<ApiError | null>((resolve) => this.signers.set(transfer.routeId, resolve));
    void this.delivery.run();
    this.render();
    return answer;
  }

  private authorized({ routeId }: SignedTransfer, payment: Payment): void {
    this.outbox.authorized(routeId, payment.id);
    const { payments } = this.checkout;
    // Shown until the next poll returns it.
    if (!payments.some(({ id }) => id === payment.id)) this.checkout = { ...this.checkout, payments: [payment, ...payments] };
    this.answer(routeId, null);
    this.poll.now();
    this.render();
  }

  private unauthorized({ routeId }: SignedTransfer, error: ApiError): void {
    this.outbox.dropSigned(routeId);
    const isAnswered = this.answer(routeId, error);
    // The customer signed it before the page was reloaded.
    if (!isAnswered && this.flow.step.at === "choose") this.flow.restart(this.flow.serverNotice(error));
    this.render();
  }

  /** Return false if nothing on this page waits for it. */
  private answer(routeId: string, error: ApiError | null): boolean {
    this.signers.get(routeId)?.(error);
    return this.signers.delete(routeId);
  }

  /** Submit a hash. The customer has entered it, or it should be checked again. */
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

  private allUnderWay(): Payment[] {
    return this.checkout.payments.filter((payment) => progress.isUnderWay(payment, this.outbox.own));
  }

  private underWay(): Payment | null {
    return outcomes.latest(this.allUnderWay());
  }

  /** Whether the customer can send more to the deposit address while a payment of a part is under way. */
  private get awaitsRest(): boolean {
    const { step } = this.flow;
    return step.at === "deposit" && this.isPayable() && step.part.leftToSend(this.checkout, this.allUnderWay()) !== null;
  }

  private awaited(): OwnTransaction | null {
    return progress.awaited(this.checkout.payments, this.outbox.own);
  }

  /** The estimated duration of the payment under way, if this browser sent or signed it. */
  private estimate(): Estimate | null {
    const payment = this.underWay();
    const { own, unsubmitted } = this.outbox;
    const mine = payment ? (progress.ownOf(payment, own) ?? this.outbox.signedFor(payment.id)) : (this.awaited() ?? unsubmitted);
    return estimateOf(mine ?? null);
  }

  private isInFlight(): boolean {
    return this.underWay() !== null || this.awaited() !== null || this.awaitedBatch() !== null || this.outbox.unsubmitted !== undefined;
  }

  private awaitedBatch(): batches.Batch | null {
    return this.outbox.batches.find(batches.isAwaited) ?? null;
  }

  private isPayable(): boolean {
    return this.checkout.status === "active" && !this.isTimeUp;
  }

  /** Whether a payment is still due. The server and this browser's other tabs are checked now. */
  private async isStillDue(): Promise<boolean> {
    await this.poll.refresh();
    this.outbox.reread();
    this.render();
    return this.isPayable() && !this.isInFlight();
  }

  /** The number of steps back from this screen. While a payment is under way, it is 0. */
  private depth(): number {
    return this.isPayable() && !this.isInFlight() ? this.flow.depth : 0;
  }

  private openPrompt(): OpenPrompt {
    if (this.flow.isPromptOpen) return "here";
    return this.outbox.promptWasLeftOpen ? "unanswered" : null;
  }

  private screen(): Screen {
    const { checkout, chains } = this;
    const following = { checkout, chains, now: this.clock.now(), estimate: this.estimate() };
    const { secondsLeft } = this.leaving;
    const stay = (): void => this.leaving.stay();
    if (checkout.status === "completed") return outcomes.completedScreen(checkout, chains, this.leaving, stay);
    const open = this.underWay();
    if (open && !this.awaitsRest) return processingScreen(open, following);
    const awaited = this.awaited();
    if (awaited) return this.waiting(awaited, following);
    const batch = this.awaitedBatch();
    if (batch) return batchScreen(batch, () => this.stopAwaiting(batch));
    if (this.outbox.unsubmitted) return signedScreen(this.delivery.isRetrying, following);
    const warning = this.warning();
    const checkAgain = ({ transaction_hash: hash, chain_id }: Payment): void => {
      if (hash) this.send({ transaction_hash: hash, chain_id });
    };
    const warned = { enterHash: () => this.finder.open(), checkAgain };
    const isMine = this.outbox.isMine(warning?.payment.transaction_hash ?? "");
    const unbound = this.unbound();
    const late = unbound && paymentWarning(unbound, checkout, chains, warned, isMine);
    if (checkout.status === "cancelled") return outcomes.cancelledScreen(checkout, secondsLeft, stay, late);
    if (checkout.status === "expired") return outcomes.expiredScreen(checkout, late);
    const failed = warning && this.isOwnFailure(warning) ? warning.payment : null;
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
      underWay: this.allUnderWay(),
      flow: this.flow,
    });
  }

  private warning(): progress.PaymentWarning | null {
    const isKnownHere = ({ id, transaction_hash: hash }: Payment): boolean =>
      this.outbox.knows(hash ?? "") || this.outbox.signedFor(id) !== null;
    return progress.findWarning(this.checkout.payments, this.outbox.own, isKnownHere);
  }

  /**
   * The warning about a transfer that nothing links to the request. The sender can still sign that it pays the request.
   */
  private unbound(): progress.PaymentWarning | null {
    const warning = this.warning();
    return warning?.kind === "unpaid" && progress.failureOf(warning.payment) === "transaction_not_bound" ? warning : null;
  }

  /** Whether a transaction failed that a wallet of this browser sent. */
  private isOwnFailure({ payment, kind }: progress.PaymentWarning): boolean {
    const isFailed = kind === "unpaid" || payment.status === "failed";
    const isOwn = this.outbox.isOwn(payment.transaction_hash ?? "") || this.outbox.signedFor(payment.id) !== null;
    return isFailed && kind !== "cancelled" && isOwn;
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
    const estimate = this.estimate();
    // Redraw only if something visible has changed. A redraw interrupts users of keyboards and screen readers.
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
    const state = this.state();
    const isChanged = this.root.dataset.state !== state;
    this.root.dataset.state = state;
    if (isChanged) this.showAmounts();
    this.root.dataset.screen = screen.name;
    const title = [screen.heading, money(this.checkout.amount, this.checkout), this.checkout.merchant.name].join(" · ");
    document.title = withoutMarks(title);
    this.embedding.tell(this.state(), screen.name === "confirming" || this.flow.isPaymentOpen || this.awaited() !== null || this.awaitedBatch() !== null || this.outbox.unsubmitted !== undefined);
    this.runCountdown();
    this.countdown.drawBeside();
    this.backButton.update();
  }

  private state(): string {
    const { status } = this.checkout;
    if (status === "completed") return status;
    if (this.isInFlight()) return "processing";
    if (status !== "active") return status;
    return isZero(paidSoFar(this.checkout)) ? "active" : "partly_paid";
  }

  private runCountdown(): void {
    const target = this.isPayable() && !this.isInFlight() ? this.checkout.expires_at : null;
    if (target === this.countingTo) return;
    this.countingTo = target;
    if (target) this.countdown.start(target);
    else this.countdown.stop();
  }

  private showAmounts(): void {
    const { status, amount, amount_paid, amount_remaining, merchant } = this.checkout;
    const isPart = status === "active" && partialText(this.checkout) !== null;
    const isMore = outcomes.isWholeShown(this.checkout);
    byId("amount").textContent = plain(isPart ? amount_remaining : isMore ? amount_paid : amount);
    // The price is for the requested amount. The page may now show the remaining or the paid amount.
    const price = document.getElementById("price")?.closest<HTMLElement>(".price__currency");
    if (price) price.hidden = isPart || isMore;
    // Nothing should be paid now if the request is paid in full and waits for the merchant, a payment is under way, or
    // the request is not payable.
    const isHeld = isZero(amount_remaining) || this.isInFlight() || this.isTimeUp || this.checkout.is_available === false;
    const active = isHeld ? copy.amount : this.dueLabel;
    const ended = PRICE_LABELS[status]?.(merchant.name);
    const label = isPart ? copy.leftToPay(merchant.name) : status === "active" ? active : ended;
    if (label) byId("amount-label").textContent = label;
    // The QR code requests the amount that remained when the server made the page.
    const scan = document.getElementById("scan");
    if (scan) scan.hidden = scan.dataset.remaining !== amount_remaining.raw;
  }

  private dismiss(paymentId: string): void {
    this.dismissedFailure = paymentId;
    this.render();
  }

  /**
   * The shop's URL if the page should redirect there. The page redirects if the request was paid here, or cancelled
   * while the page is open.
   */
  private destination(): string | null {
    const { status, redirect_url, cancel_url, amount_paid } = this.checkout;
    // A prompt of the wallet is open. The customer must first decline it.
    if (this.flow.isPromptOpen) return null;
    if (status === "completed" && (this.wasInFlight || this.outbox.hasSent)) return webUrl(redirect_url);
    // A customer who paid a cancelled request must have time to read about the money.
    const isUnpaid = !this.isInFlight() && amount_paid.raw === "0" && this.unbound() === null;
    return status === "cancelled" && this.wasCancelledHere && isUnpaid ? webUrl(cancel_url) : null;
  }

  private showConnection(isUp: boolean): void {
    const line = byId("connection");
    line.textContent = isUp ? "" : copy.connectionLost;
    line.hidden = isUp;
    if (!isUp) this.panel.announce(copy.connectionLost);
  }
}

shareModules();
const data = JSON.parse(byId("checkout-data").textContent ?? "") as Checkout;
new CheckoutPage(data).start();
