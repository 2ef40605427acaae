/** The transactions that sweep one token. A wallet sends one after the other, or they are saved as a file. */

import { el, externalLink, webUrl } from "../dom";
import type { Chain } from "../server/types";
import { refused } from "../wallets/refusals";
import type { Wallet } from "../wallets/wallet";
import { safeBatch, save, type Unsigned } from "./files";

const CHECK_EVERY_MS = 3_000;
const CHECKS = 200;

export class SweepList {
  private readonly unsigned: Unsigned[];
  private readonly states: HTMLElement[];
  private readonly wallets: HTMLElement;
  private readonly note: HTMLElement;
  private readonly sent = new Set<number>();
  private mined = 0;
  private busy = false;

  constructor(
    private readonly root: HTMLElement,
    private readonly chain: Chain,
    private readonly setAllBusy: (busy: boolean) => void,
  ) {
    this.unsigned = JSON.parse(this.part("pre").textContent ?? "") as Unsigned[];
    this.states = [...root.querySelectorAll<HTMLElement>(".q-sweep-state")];
    this.wallets = this.part(".q-sweep-wallets");
    this.note = this.part(".q-sweep-note");
    this.part(".q-sweep-files").append(
      this.button("Download JSON", () => save(`sweep-${chain.id}.json`, this.unsigned)),
      this.button("Download for a Safe", () => save(`sweep-${chain.id}-safe.json`, this.safeBatch())),
    );
  }

  offer(wallets: readonly Wallet[], settled: boolean): void {
    this.wallets.replaceChildren(...wallets.map((wallet) => this.offered(wallet)));
    if (this.sent.size > 0) return;
    const none = settled && wallets.length === 0;
    this.note.textContent = none ? "This browser has no wallet. Copy or download the transactions to sign them elsewhere." : "";
  }

  setBusy(busy: boolean): void {
    this.busy = busy;
    const isDone = this.sent.size === this.unsigned.length;
    for (const button of this.wallets.querySelectorAll("button")) button.disabled = busy || isDone;
  }

  /** Send the transactions that were not sent yet. If the wallet rejects one, the next call begins with that one. */
  async sweep(wallet: Wallet): Promise<void> {
    if (this.busy) return;
    this.setAllBusy(true);
    this.note.textContent = "";
    try {
      const account = await wallet.connect();
      if ((await wallet.switchTo(this.chain.id, this.chain)) !== this.chain.id) {
        this.note.textContent = `Switch ${wallet.name} to ${this.chain.name}, and try again.`;
        return;
      }
      for (const [index, transaction] of this.unsigned.entries()) {
        if (!this.sent.has(index)) await this.send(wallet, account, index, transaction);
      }
    } catch (error) {
      this.note.textContent = reasonOf(error, wallet.name);
    } finally {
      this.setAllBusy(false);
    }
  }

  private async send(wallet: Wallet, account: string, index: number, unsigned: Unsigned): Promise<void> {
    this.show(index, `Confirm it in ${wallet.name}…`);
    try {
      // The wallet estimates the gas. If the estimate is not enough for all sweeps, the factory rejects the whole
      // transaction.
      const hash = await wallet.send(account, { ...unsigned, from: account, chainId: `0x${this.chain.id.toString(16)}` });
      this.sent.add(index);
      this.show(index, "Sent, not mined yet.", hash);
      void this.follow(wallet, index, hash);
    } catch (error) {
      this.show(index, "Not sent.");
      throw error;
    }
  }

  private async follow(wallet: Wallet, index: number, hash: string): Promise<void> {
    for (let check = 0; check < CHECKS; check += 1) {
      await new Promise((resolve) => setTimeout(resolve, CHECK_EVERY_MS));
      const succeeded = await wallet.outcome?.(hash).catch(() => null);
      if (succeeded === true) return this.finish(index, hash);
      if (succeeded === false) return this.show(index, "Reverted: nothing was moved. Reload the page to try again.", hash);
    }
  }

  private finish(index: number, hash: string): void {
    this.mined += 1;
    this.show(index, "Mined.", hash);
    if (this.mined < this.unsigned.length) return;
    this.note.replaceChildren("All transactions are mined. ", el("a", { href: location.href, class: "text-link" }, "Reload the page"), " to see what still waits.");
  }

  private show(index: number, text: string, hash = ""): void {
    const explorer = webUrl(this.chain.explorer_url);
    const url = explorer && hash ? `${explorer.replace(/\/$/, "")}/tx/${hash}` : null;
    this.states[index]?.replaceChildren(text, ...(hash ? [" ", externalLink(url, `${hash.slice(0, 10)}…`)] : []));
  }

  private offered(wallet: Wallet): HTMLButtonElement {
    const icon = wallet.icon ? el("img", { src: wallet.icon, alt: "" }) : null;
    const button = el("button", { type: "button", class: "q-sweep-wallet" }, icon, `Sweep with ${wallet.name}`);
    button.disabled = this.busy || this.sent.size === this.unsigned.length;
    button.addEventListener("click", () => void this.sweep(wallet));
    return button;
  }

  private button(label: string, onClick: () => void): HTMLButtonElement {
    const button = el("button", { type: "button", class: "q-copy q-copy-quiet" }, label);
    button.addEventListener("click", onClick);
    return button;
  }

  private safeBatch(): object {
    return safeBatch(this.unsigned, this.chain.id, Date.now());
  }

  private part(selector: string): HTMLElement {
    const part = this.root.querySelector<HTMLElement>(selector);
    if (!part) throw new Error(`The list of sweeps has no ${selector}`);
    return part;
  }
}

function reasonOf(error: unknown, wallet: string): string {
  const refusal = refused(error);
  if (refusal?.refusal === "rejected") return `You rejected it in ${wallet}. Nothing more was sent.`;
  if (refusal?.refusal === "already_asking") return `${wallet} has an open prompt. Answer it, and try again.`;
  return `${wallet} did not send it${refusal?.detail ? `: ${refusal.detail}` : "."}`;
}
