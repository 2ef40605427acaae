/**
 * The form to submit a transaction's hash. The customer needs it if the transaction was sent elsewhere, or sped up in
 * the wallet.
 */

import type { Chains } from "../chains";
import { copy } from "../copy";
import { isTransactionHash } from "../families";
import type { PaymentWarning } from "../server/progress";
import type { Payment, SentTransaction } from "../server/types";

export class Finder {
  private readonly form = document.getElementById("finder") as HTMLFormElement | null;
  private readonly input = document.getElementById("finder-hash") as HTMLInputElement | null;
  private readonly network = document.getElementById("finder-network") as HTMLSelectElement | null;

  constructor(
    private readonly chains: Chains,
    private readonly announce: (text: string) => void,
    private readonly onFound: (transaction: SentTransaction) => void,
  ) {
    this.form?.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.input?.addEventListener("input", () => this.show("", false));
  }

  /** Open the form and focus its field. */
  open(): void {
    document.getElementById("finder-box")?.setAttribute("open", "");
    this.input?.focus();
  }

  /** Show at the field why the server rejected the hash. If the field now contains another hash, return false. */
  rejected(hash: string, text: string): boolean {
    if (!this.shows(hash)) return false;
    this.fail(text);
    return true;
  }

  /** Show at the field that the hash can't be found. When a node has seen the transaction, clear the field. */
  follow(payments: readonly Payment[], warning: PaymentWarning | null): void {
    const payment = payments.find(({ transaction_hash: hash }) => hash !== null && this.shows(hash));
    if (!payment) return;
    if (payment.is_seen && this.input) {
      this.input.value = "";
      this.show("", false);
    } else if (warning?.payment === payment && warning.kind === "unseen") {
      this.show(`${copy.paymentWarning.unseen}. ${copy.unseenHelp}`, true);
    }
  }

  private submit(): void {
    const hash = this.input?.value.trim() ?? "";
    const chainId = this.network ? Number(this.network.value) : this.chains.requested.id;
    const family = this.chains.get(chainId)?.chain_type ?? "";
    if (!isTransactionHash(family, hash)) return this.fail(copy.findEmpty(family));
    this.show(copy.findDone, false);
    // The hash stays in the field until it is found. So the customer can correct a typing error.
    this.onFound({ transaction_hash: hash, chain_id: chainId });
  }

  /** Show an error. Scroll to the field, unless the customer is elsewhere by now. */
  private fail(text: string): void {
    this.show(text, true);
    this.announce(text);
    const { activeElement } = document;
    if (activeElement === document.body || this.form?.contains(activeElement)) this.input?.focus();
  }

  private show(text: string, isError: boolean): void {
    const answer = document.getElementById("finder-answer");
    if (!answer || !this.input) return;
    answer.textContent = text;
    answer.className = isError ? "field-error" : "help help--small";
    this.input.setAttribute("aria-invalid", String(isError));
  }

  private shows(hash: string): boolean {
    return this.input?.value.trim().toLowerCase() === hash.toLowerCase();
  }
}
