/** The facts that the customer reviewed. The wallet's transaction is compared with them. */

import type { Approval } from "../server/types";
import type { Shown } from "../wallets/wallet";
import { contractOf, mostCoins, spenderOf } from "./route-cache";
import type { Reviewed } from "./states";

export function shownAllowance({ account, option, route }: Reviewed, { spender }: Approval, kind: "reset" | "allow"): Shown {
  const shown = spenderOf(route) ?? "";
  return {
    kind: "allowance",
    account,
    chainId: option.chainId,
    token: route.from.token,
    // The approved spender must be the contract that the review of the route showed.
    spender: spender?.toLowerCase() === shown.toLowerCase() ? shown : "",
    rawAmount: kind === "reset" ? "0" : route.from.amount.raw,
  };
}

export function shownCall({ account, option, route }: Reviewed): Shown {
  const contract = contractOf(route) ?? "";
  return { kind: "call", account, chainId: option.chainId, contract, mostCoins: String(mostCoins(route)) };
}
