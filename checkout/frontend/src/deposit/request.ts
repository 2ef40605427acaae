/** Requests the deposit address. If there is none, the page shows the other ways to pay. */

import type { Means, Stage } from "../flow/stage";

/** Return the address; null if there is none, or if the customer left meanwhile. */
export async function requestAddress(stage: Stage, { api, checkout }: Means, current: () => boolean): Promise<string | null> {
  try {
    const address = checkout().deposit_address ?? (await api.showDepositAddress());
    return current() ? address : null;
  } catch (error) {
    if (!current()) return null;
    // The page's script has a class of errors of its own.
    if ((error as { code?: unknown }).code === "deposit_address_unavailable") offerManualTransfer();
    stage.restart(stage.serverNotice(error));
    return null;
  }
}

/** The page that explains manual transfers takes the form's place. */
function offerManualTransfer(): void {
  document.getElementById("by-address")?.setAttribute("hidden", "");
  document.getElementById("send-yourself")?.removeAttribute("hidden");
}
