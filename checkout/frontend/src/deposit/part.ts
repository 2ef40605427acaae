/** The functions of the deposit address's script that the page uses. */

import type { Screen } from "../screens/panel";
import type { Amount, Checkout, Payment } from "../server/types";

export interface DepositPart {
  leftToSend(checkout: Checkout, underWay: readonly Payment[]): Amount | null;
  /** `underWay`: the payments under way. Together, they are less than the remaining amount. */
  depositScreen(address: string, checkout: Checkout, underWay: readonly Payment[], back: () => void): Screen;
}
