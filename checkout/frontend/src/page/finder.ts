/** The form to submit the hash of a transaction that was sent elsewhere or sped up in the wallet. */

import type { Chains } from "../chains";
import { copy } from "../copy";
import { byId } from "../dom";
import { isTransactionHash } from "../families";
import type { SentTransaction } from "../server/types";

export class Finder {
  private readonly form = document.getElementById("finder") as HTMLFormElement | null;
  private readonly network = document.getElementById("finder-network") as HTMLSelectElement | null;

  constructor(
    private readonly chains: Chains,
    private readonly announce: (text: string) => void,
    private readonly onFound: (transaction: SentTransaction) => void,
  ) {
    this.form?.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit(byId("finder-hash") as HTMLInputElement);
    });
  }

  /** Open the form and focus its field. */
  open(): void {
    (document.getElementById("finder-box") as HTMLDetailsElement | null)?.setAttribute("open", "");
    document.getElementById("finder-hash")?.focus();
  }

  /** Show the result below the field. */
  answer(text: string): void {
    if (this.form) byId("finder-answer").textContent = text;
  }

  private submit(input: HTMLInputElement): void {
    const hash = input.value.trim();
    const chainId = this.network ? Number(this.network.value) : this.chains.requested.id;
    const family = this.chains.get(chainId)?.chain_type ?? "";
    const isHash = isTransactionHash(family, hash);
    input.setAttribute("aria-invalid", String(!isHash));
    const text = isHash ? copy.findDone : copy.findEmpty(family);
    this.answer(text);
    if (!isHash) {
      this.announce(text);
      return input.focus();
    }
    input.value = "";
    this.onFound({ transaction_hash: hash, chain_id: chainId });
  }
}
