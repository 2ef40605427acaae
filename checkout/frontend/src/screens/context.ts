/** The data that the screens before a payment are drawn from. */

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
  /** The same name, if that wallet isn't detected now. */
  missing: string | null;
  /** Whether the page's policy blocked a script, perhaps a wallet's, and no wallet was found. */
  isWalletBlocked: boolean;
  promptWasLeftOpen: boolean;
  /** The batch that may have paid, although the wallet reports no transaction. */
  batch: Batch | null;
  /** The warning about a submitted payment that is not on its way, shown beside the ways to pay. */
  warning: HTMLElement | null;
  /** The payments under way, which don't cover the remaining amount. */
  underWay: readonly Payment[];
  flow: Flow;
}
