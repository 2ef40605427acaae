/** Requests the deposit address. If there is none, the page shows the other ways to pay. */

import type { Means, Stage } from "../flow/stage";

/** Return the address. Return null if there is none, or if the customer has navigated away. */
export async function requestAddress(stage: Stage, { api, checkout }: Means, current: () => boolean): Promise<string | null> {
  try {
    const address = checkout().deposit_address ?? (await api.showDepositAddress());
    return current() ? address : null;
  } catch (error) {
    if (!current()) return null;
    // `instanceof ApiError` doesn't work here, because the page's script has its own copy of that class.
    if ((error as { code?: unknown }).code === "deposit_address_unavailable") offerManualTransfer();
    stage.restart(stage.serverNotice(error));
    return null;
  }
}

/** Replace the form for the deposit address by the link to the page for manual transfers. */
function offerManualTransfer(): void {
  document.getElementById("by-address")?.setAttribute("hidden", "");
  document.getElementById("send-yourself")?.removeAttribute("hidden");
}
