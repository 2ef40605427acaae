/**
 * The browser's record of one payment request, in localStorage. The record contains submitted and unsubmitted hashes,
 * the transactions of this browser's wallets, and open prompts. So no transaction is lost if the page is closed or
 * reloaded.
 */

import type { TrackedTransaction } from "../wallets/wallet";
import { newBatch, type Batch, type BatchEnd, type SentBatch } from "./batches";
import type { Sender } from "./sender";
import type { Authorization, SentTransaction } from "./types";

export type { Sender };

/** A transaction that a wallet of this browser sent. (The customer can enter the hash of any other transaction.) */
export interface OwnTransaction extends TrackedTransaction {
  chainId: number;
  routeId?: string;
  /** The wallet's name. */
  wallet: string;
  sentAt: number;
  /**
   * The estimated duration of the route. The field is missing if the estimate is unknown, and in records of earlier
   * releases.
   */
  seconds?: number | null;
  /** If the transaction was sped up: its earlier hashes. */
  replaced: string[];
  isCancelled: boolean;
  /** The customer has stopped waiting for the network to see this transaction. */
  isLetGo: boolean;
}

/** A transfer that the customer signed here. Another account sends it. */
export interface SignedTransfer {
  routeId: string;
  /** Null as soon as the server has the signature. */
  authorization: Authorization | null;
  /** The id of the payment that the server created for this transfer. Null until the server has the signature. */
  paymentId: string | null;
  sentAt: number;
  /** The estimate of its route, or null if unknown. */
  seconds: number | null;
}

interface Memory {
  unsent: SentTransaction[];
  acknowledged: string[];
  /**
   * Hashes that the customer entered here. Other submitted hashes are not in this list, such as those that the page
   * submits to check them again.
   */
  entered: string[];
  own: OwnTransaction[];
  signed: SignedTransfer[];
  /** The times at which the open prompts were opened. Each time is also the id of its prompt. */
  prompts: number[];
  batches: Batch[];
  /** The customer pays the network fee, by choice or because no other account can pay it. */
  paysFee: boolean;
}

const PROMPT_MATTERS_FOR_MS = 15 * 60_000;

export class Outbox {
  private readonly key: string;
  private memory: Memory;
  private isStored = true;

  constructor(requestId: string) {
    this.key = `quittance:${requestId}`;
    this.memory = this.read();
  }

  get unsent(): readonly SentTransaction[] {
    return this.memory.unsent;
  }

  /** The next hash to submit. Transactions of a wallet come before entered hashes. */
  get next(): SentTransaction | undefined {
    return this.unsent.find((sent) => this.isOwn(sent.transaction_hash)) ?? this.unsent[0];
  }

  /** The transactions that wallets of this browser sent, oldest first. */
  get own(): readonly OwnTransaction[] {
    return this.memory.own;
  }

  isOwn(hash: string): boolean {
    return this.memory.own.some((own) => own.hash === hash);
  }

  /** Whether this browser submitted the hash, or its wallet sent it. */
  knows(hash: string): boolean {
    return this.memory.acknowledged.includes(hash) || this.isOwn(hash);
  }

  /** Whether the customer sent the transaction with a wallet of this browser, or entered its hash here. */
  isMine(hash: string): boolean {
    return this.memory.entered.includes(hash) || this.isOwn(hash);
  }

  /** Whether this browser has sent any transaction for the request. */
  get hasSent(): boolean {
    return this.memory.unsent.length + this.memory.acknowledged.length + this.memory.signed.length > 0;
  }

  /** The signed transfer that the server doesn't have yet. */
  get unsubmitted(): SignedTransfer | undefined {
    return this.memory.signed.find(({ authorization }) => authorization !== null);
  }

  /** The transfer that the customer signed here for this payment. */
  signedFor(paymentId: string): SignedTransfer | null {
    return this.memory.signed.find((signed) => signed.paymentId === paymentId) ?? null;
  }

  /** Store a transfer that the customer signed. */
  sign(signed: SignedTransfer): void {
    this.change((memory) => (memory.signed = [...memory.signed.filter(({ routeId }) => routeId !== signed.routeId), signed]));
  }

  /** Remove a signature that the server now has, and store the id of its payment. */
  authorized(route: string, paymentId: string): void {
    this.change((memory) => {
      const own = memory.signed.filter(({ routeId }) => routeId === route);
      for (const signed of own) Object.assign(signed, { paymentId, authorization: null });
    });
  }

  /** Remove a signature that the server rejected permanently. */
  dropSigned(route: string): void {
    this.change((memory) => (memory.signed = memory.signed.filter(({ routeId }) => routeId !== route)));
  }

  get paysFee(): boolean {
    return this.memory.paysFee;
  }

  set paysFee(paysFee: boolean) {
    this.change((memory) => (memory.paysFee = paysFee));
  }

  /** Whether a recently opened prompt of a wallet got no response. */
  get promptWasLeftOpen(): boolean {
    return this.memory.prompts.some(stillMatters);
  }

  get batches(): readonly Batch[] {
    return this.memory.batches;
  }

  /** Store that a batch is sent to a wallet. */
  openBatch(sent: SentBatch, by: Sender): void {
    this.change((memory) => memory.batches.push(newBatch(sent, by)));
  }

  /** Store that the wallet has the batch. `walletId` is the wallet's id for the batch. */
  confirmBatch(id: string, walletId: string): void {
    this.editBatch(id, (batch) => Object.assign(batch, { id: walletId, isConfirmed: true }));
  }

  endBatch(id: string, ended: BatchEnd): void {
    this.editBatch(id, (batch) => (batch.ended = ended));
  }

  /** Remove a batch that was not sent, or whose transaction is known. */
  dropBatch(id: string): void {
    this.change((memory) => (memory.batches = memory.batches.filter((batch) => batch.id !== id)));
  }

  /** Store that a prompt was opened. Return its id. */
  promptOpened(): number {
    let prompt = Date.now();
    this.change((memory) => {
      while (memory.prompts.includes(prompt)) prompt += 1;
      memory.prompts = [...memory.prompts.filter(stillMatters), prompt];
    });
    return prompt;
  }

  promptAnswered(prompt: number): void {
    this.change((memory) => (memory.prompts = memory.prompts.filter((other) => other !== prompt)));
  }

  /**
   * Store a hash. If the customer entered the hash, there is no `by`. The hash may then be the result of any open
   * prompt, so all prompts are removed.
   */
  remember(sent: SentTransaction, by?: Sender): void {
    const transaction_hash = canonical(sent.transaction_hash);
    this.change((memory) => {
      memory.prompts = memory.prompts.filter((prompt) => by && prompt !== by.prompt);
      if (by) memory.own.push(ownTransaction({ ...sent, transaction_hash }, by));
      if (memory.unsent.some((other) => other.transaction_hash === transaction_hash)) return;
      memory.unsent.push({ ...sent, transaction_hash });
    });
  }

  /** Store a hash that the customer typed. */
  enter(sent: SentTransaction): void {
    this.remember(sent);
    this.change((memory) => memory.entered.push(canonical(sent.transaction_hash)));
  }

  acknowledge(hash: string): void {
    this.change((memory) => {
      memory.unsent = memory.unsent.filter((other) => other.transaction_hash !== hash);
      if (!memory.acknowledged.includes(hash)) memory.acknowledged.push(hash);
    });
  }

  /** Mark the hash as submitted: the server already lists it. */
  settle(hash: string): void {
    if (this.memory.unsent.some((other) => other.transaction_hash === hash)) this.acknowledge(hash);
  }

  /** Remove a hash that the server rejected permanently. */
  drop(hash: string): void {
    this.change((memory) => {
      memory.unsent = memory.unsent.filter((other) => other.transaction_hash !== hash);
      memory.own = memory.own.filter((own) => own.hash !== hash);
    });
  }

  /** Store the details that the wallet's node returned for a transaction. */
  learn(hash: string, { nonce, call, fromBlock }: Pick<OwnTransaction, "nonce" | "call" | "fromBlock">): void {
    this.edit(hash, (own) => Object.assign(own, { nonce, call, fromBlock }));
  }

  /** Follow the replacement instead of the replaced transaction. */
  replace(hash: string, by: string): void {
    this.edit(hash, (own) => {
      own.replaced.push(hash);
      own.hash = canonical(by);
    });
  }

  cancel(hash: string): void {
    this.edit(hash, (own) => (own.isCancelled = true));
  }

  letGo(hash: string): void {
    this.edit(hash, (own) => (own.isLetGo = true));
  }

  /** Call `callback` if another tab has changed the record of the same request. */
  onOtherTab(callback: () => void): void {
    window.addEventListener("storage", (event) => {
      if (event.key !== this.key) return;
      this.memory = this.read();
      callback();
    });
    // While the page is suspended, it gets no storage events.
    window.addEventListener("pageshow", (event) => {
      if (!event.persisted) return;
      this.memory = this.read();
      callback();
    });
  }

  /** Read the record again. Other tabs may have changed it, and their storage events may not have arrived yet. */
  reread(): void {
    this.memory = this.read();
  }

  private edit(hash: string, edit: (own: OwnTransaction) => void): void {
    this.change((memory) => memory.own.filter((own) => own.hash === hash).forEach(edit));
  }

  /** Change the batch. Remove its prompt, because the wallet has responded to it. */
  private editBatch(id: string, edit: (batch: Batch) => void): void {
    this.change((memory) => {
      const edited = memory.batches.filter((batch) => batch.id === id);
      edited.forEach(edit);
      memory.prompts = memory.prompts.filter((prompt) => !edited.some(({ by }) => by.prompt === prompt));
    });
  }

  private change(edit: (memory: Memory) => void): void {
    this.memory = this.read();
    edit(this.memory);
    try {
      localStorage.setItem(this.key, JSON.stringify(this.memory));
      this.isStored = true;
    } catch {
      // The storage can be full, and a private window may block it. Then the record is only in memory.
      this.isStored = false;
    }
  }

  private read(): Memory {
    // The stored record is older than the one in memory.
    if (!this.isStored) return this.memory;
    const empty: Memory = { unsent: [], acknowledged: [], entered: [], own: [], signed: [], prompts: [], batches: [], paysFee: false };
    try {
      const text = localStorage.getItem(this.key);
      if (text === null) return this.memory ?? empty;
      return { ...empty, ...(JSON.parse(text) as Partial<Memory>) };
    } catch {
      return this.memory ?? empty;
    }
  }
}

function stillMatters(openedAt: number): boolean {
  return Date.now() - openedAt < PROMPT_MATTERS_FOR_MS;
}

function ownTransaction(sent: SentTransaction, { wallet, account, seconds }: Sender): OwnTransaction {
  const { transaction_hash: hash, chain_id: chainId, route_id: routeId } = sent;
  const unknown = { nonce: null, call: null, fromBlock: null };
  const so = { replaced: [], isCancelled: false, isLetGo: false };
  return { hash, chainId, ...(routeId ? { routeId } : {}), wallet, sender: account, sentAt: Date.now(), seconds, ...unknown, ...so };
}

/** Convert a hexadecimal hash to lower case. A base58 hash is case-sensitive, so return it unchanged. */
function canonical(hash: string): string {
  return /^0x/i.test(hash) ? hash.toLowerCase() : hash;
}
