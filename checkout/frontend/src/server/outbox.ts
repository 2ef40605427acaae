/**
 * What this browser did about one payment request, kept in localStorage so that a closed or reloaded page
 * forgets no transaction: hashes the server has not acknowledged, hashes it has, and a prompt that was open.
 */

import type { SentTransaction } from "./types";

interface Memory {
  unsent: SentTransaction[];
  acknowledged: string[];
  promptOpenedAt: number | null;
}

const PROMPT_MATTERS_FOR_MS = 15 * 60_000;

export class Outbox {
  private readonly key: string;
  private memory: Memory;

  constructor(requestId: string) {
    this.key = `quittance:${requestId}`;
    this.memory = this.read();
  }

  get unsent(): readonly SentTransaction[] {
    return this.memory.unsent;
  }

  /** Whether this browser has sent any transaction for the request. */
  get hasSent(): boolean {
    return this.memory.unsent.length + this.memory.acknowledged.length > 0;
  }

  /** Whether a wallet was asked to send and this browser never learned what came of it. */
  get promptWasLeftOpen(): boolean {
    const opened = this.memory.promptOpenedAt;
    return opened !== null && Date.now() - opened < PROMPT_MATTERS_FOR_MS;
  }

  promptOpened(): void {
    this.change((memory) => (memory.promptOpenedAt = Date.now()));
  }

  promptAnswered(): void {
    this.change((memory) => (memory.promptOpenedAt = null));
  }

  remember(sent: SentTransaction): void {
    const transaction_hash = canonical(sent.transaction_hash);
    this.change((memory) => {
      memory.promptOpenedAt = null;
      if (memory.unsent.some((other) => other.transaction_hash === transaction_hash)) return;
      memory.unsent.push({ ...sent, transaction_hash });
    });
  }

  acknowledge(hash: string): void {
    this.change((memory) => {
      memory.unsent = memory.unsent.filter((other) => other.transaction_hash !== hash);
      if (!memory.acknowledged.includes(hash)) memory.acknowledged.push(hash);
    });
  }

  /** Forgets that `hash` is unsent once the server shows it, however the server learned of it. */
  settle(hash: string): void {
    if (this.memory.unsent.some((other) => other.transaction_hash === hash)) this.acknowledge(hash);
  }

  /** Gives up on a hash that the server refused for good. */
  drop(hash: string): void {
    this.change((memory) => {
      memory.unsent = memory.unsent.filter((other) => other.transaction_hash !== hash);
    });
  }

  /** Calls back when another tab of this browser did something about the same request. */
  onOtherTab(callback: () => void): void {
    window.addEventListener("storage", (event) => {
      if (event.key !== this.key) return;
      this.memory = this.read();
      callback();
    });
    // A page that was asleep has heard nothing.
    window.addEventListener("pageshow", (event) => {
      if (!event.persisted) return;
      this.memory = this.read();
      callback();
    });
  }

  private change(edit: (memory: Memory) => void): void {
    this.memory = this.read();
    edit(this.memory);
    try {
      localStorage.setItem(this.key, JSON.stringify(this.memory));
    } catch {
      // Private windows may refuse storage; this page's memory still serves.
    }
  }

  private read(): Memory {
    const empty: Memory = { unsent: [], acknowledged: [], promptOpenedAt: null };
    try {
      const text = localStorage.getItem(this.key);
      if (text === null) return this.memory ?? empty;
      return { ...empty, ...(JSON.parse(text) as Partial<Memory>) };
    } catch {
      return this.memory ?? empty;
    }
  }
}

/** Hexadecimal has two cases; base58 means another transaction by each. */
function canonical(hash: string): string {
  return /^0x/i.test(hash) ? hash.toLowerCase() : hash;
}
