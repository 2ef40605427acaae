/** Pays by a sponsored route: check the built transfer, have the wallet sign it, submit the signature. */

import type { copy } from "../copy";
import type { info, walletNotice } from "../flow/notices";
import type { Means, SponsoredRoutes, Stage } from "../flow/stage";
import type { Plan, Ready, Reviewed } from "../flow/states";
import type { TypedData, UnsignedTransaction } from "../server/types";
import type { refusalOf } from "../wallets/refusals";
import type { Shown, Signed } from "../wallets/wallet";
import { readTransfer, transferToSign } from "./typed-data";

/** This script uses these functions of the main script, so it doesn't contain copies of them. */
export interface Kit {
  copy: typeof copy;
  info: typeof info;
  walletNotice: typeof walletNotice;
  refusalOf: typeof refusalOf;
}

/** The data that the wallet signs, and its effect. */
interface Transfer {
  data: TypedData | UnsignedTransaction;
  signed: Signed | null;
}

/**
 * Return the data that the wallet signs: typed data or, on Solana, a transaction. Return null if it isn't exactly the
 * reviewed transfer.
 */
export async function transferOf({ wallet, account, option, route, built }: Ready, means: Means): Promise<Transfer | null> {
  const { recipient_address: recipient, expires_at: expires } = means.checkout();
  const { chainId, token } = option;
  const reviewed = { account, chainId, token, recipient, rawAmount: route.from.amount.raw };
  const { typed_data: typed, transaction } = built;
  if (typed && wallet.family === "evm") {
    const data = transferToSign(typed, { ...reviewed, now: means.now(), expiresAt: Date.parse(expires) });
    return data && { data, signed: readTransfer(data) };
  }
  const shown: Shown = { kind: "transfer", ...reviewed, isSponsored: true };
  if (typeof transaction !== "string" || !(await wallet.matches(transaction, shown))) return null;
  return { data: transaction, signed: wallet.read(transaction, shown) };
}

interface Signing {
  ready: Ready;
  plan: Plan;
  current: () => boolean;
}

/** The signature is always submitted, even if the customer has navigated away. */
export async function confirm(
  kit: Kit,
  way: SponsoredRoutes,
  stage: Stage,
  means: Means,
  { ready, plan, current }: Signing,
): Promise<void> {
  const { copy, info } = kit;
  const { wallet, account, option, route, routes } = ready;
  const reviewed: Reviewed = { wallet, account, option, route, ...(routes ? { routes } : {}) };
  const transfer = await transferOf(ready, means);
  if (!current()) return;
  // The transfer matched the review before. If it no longer matches, it has expired.
  if (!transfer || !wallet.authorize) return stage.review(reviewed, info(copy.notices.proofTooLate));
  stage.go({ at: "confirming", plan, signed: transfer.signed, ...reviewed });
  const cannotSign = info(copy.sponsored.cannotSign(wallet.name));
  let authorization;
  try {
    authorization = await stage.prompted("payment", wallet.authorize(account, transfer.data));
  } catch (error) {
    if (!current()) return means.events.changed();
    const isUnable = ["unsupported", "data_refused"].includes(kit.refusalOf(error));
    return isUnable ? way.fallBack(reviewed, cannotSign, current) : stage.review(reviewed, kit.walletNotice(error, wallet));
  }
  const signed = { routeId: route.id, authorization, paymentId: null, sentAt: Date.now(), seconds: route.duration_seconds };
  const error = await means.events.signed(signed);
  if (!error) return stage.restart();
  if (!current()) return;
  switch (error.code) {
    case "sponsoring_unavailable":
      return way.fallBack(reviewed, info(copy.sponsored.unavailable), current);
    case "signature_invalid":
      return way.fallBack(reviewed, cannotSign, current);
    case "route_expired":
      stage.routeCache.clear();
      return stage.quote(reviewed, current, info(copy.notices.proofTooLate));
    default:
      stage.review(reviewed, stage.serverNotice(error));
  }
}
