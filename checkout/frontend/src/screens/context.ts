/** The data for the screens before a payment. */

import type { Chains } from "../chains";
import type { Flow } from "../flow/flow";
import type { Batch } from "../server/batches";
import type { Checkout, Payment } from "../server/types";
import type { Wallet } from "../wallets/wallet";

export interface PayContext {
  checkout: Checkout;
  chains: Chains;
  wallets: Wallet[];
  walletsSettled: boolean;
  /** The name of the wallet that was used last in this browser. */
  lastUsed: string | null;
  /** The name of that wallet, if it wasn't detected this time. Otherwise null. */
  missing: string | null;
  /** Whether no wallet was found, and the page's policy blocked a script that may be a wallet's. */
  isWalletBlocked: boolean;
  promptWasLeftOpen: boolean;
  /** A batch that may have paid. The wallet has reported no transaction for it. */
  batch: Batch | null;
  /** The warning about a submitted payment that isn't in progress. The warning is shown with the ways to pay. */
  warning: HTMLElement | null;
  /** The payments under way. Together, they are less than the remaining amount. */
  underWay: readonly Payment[];
  flow: Flow;
}
