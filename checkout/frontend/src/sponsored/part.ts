/** What the page's script (`entry.ts`) and the one that it loads (`main.ts`) share. */

import { copy } from "../copy";
import { info, walletNotice, type Notice } from "../flow/notices";
import type { Reviewed } from "../flow/states";
import type { BuiltTransaction } from "../server/types";
import { refusalOf } from "../wallets/refusals";

export type Ready = Reviewed & { built: BuiltTransaction };

/** What the loaded script uses of the page's, so that it needs no copy. */
export const kit = { copy, info, walletNotice, refusalOf };
export type Kit = typeof kit;

export interface Way {
  /** Let the customer pay the network fee, and say why. */
  fallBack(reviewed: Reviewed, notice: Notice, current: () => boolean): Promise<void>;
}
