/** Shows the deposit address. The script for it is loaded when the customer chooses this way to pay. */

import { copy } from "../copy";
import { bad, info } from "../flow/notices";
import type { Means, Stage } from "../flow/stage";
import { messageFor } from "../language";

type Part = typeof import("./main");

export class DepositWay {
  private address: string | null = null;

  constructor(
    private readonly stage: Stage,
    private readonly means: Means,
  ) {
    document.getElementById("by-address")?.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.choose();
    });
  }

  /** Show the request's deposit address. */
  async choose(): Promise<void> {
    const { stage, means } = this;
    const current = stage.begin();
    stage.go({ at: "preparing" });
    // The file name may contain a digest, so the server provides it.
    const part = await (import(means.depositScript) as Promise<Part>).catch(() => null);
    if (!current()) return;
    if (!part) return stage.restart(bad(copy.notices.pageIncomplete));
    this.address ??= await part.requestAddress(stage, means, current);
    if (!this.address || !current()) return;
    stage.go({ at: "deposit", address: this.address, part });
    means.events.choseAddress();
    // From now on, the request's state contains the address.
    means.events.requestChanged();
  }

  /** Remove the address, because the server no longer shows it. Money that was already sent there is still credited. */
  withdraw(): void {
    this.address = null;
    if (this.stage.step.at === "deposit") this.stage.restart(info(messageFor("refusal", "deposit_address_unavailable", "")));
  }
}
