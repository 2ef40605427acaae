/** The messages if a wallet rejects a request or fails. */

import { copy } from "../copy";
import { refusalOf, refused } from "../wallets/refusals";
import type { Wallet } from "../wallets/wallet";

export interface Notice {
  tone: "info" | "error";
  text: string;
  /** Set if the wallet has too little to pay. The screen then shows other ways to pay first. */
  isLacking?: true;
}

export function info(text: string): Notice {
  return { tone: "info", text };
}

export function bad(text: string): Notice {
  return { tone: "error", text };
}

export function connectionNotice(error: unknown, wallet: Wallet): Notice {
  if (refusalOf(error) === "unsupported") return bad(copy.notices.cannotSend(wallet.name));
  return refusalOf(error) === "rejected" ? info(copy.notices.rejectedConnection) : walletNotice(error, wallet);
}

/** The notice about a failed network switch, with the next step. */
export function switchNotice(error: unknown, wallet: Wallet, chain: string, chainId: number): Notice {
  const refusal = refusalOf(error);
  if (refusal === "rejected") return info(copy.notices.rejectedSwitch(chain));
  // Wallets that can't add networks return various codes. The next step is the same for all of them.
  if (["unknown_chain", "unsupported", "other"].includes(refusal)) return bad(copy.notices.addNetwork(chain, chainId));
  return walletNotice(error, wallet);
}

export function approvalNotice(error: unknown, wallet: Wallet): Notice {
  const refusal = refusalOf(error);
  return refusal === "rejected" ? info(copy.notices.rejectedApproval) : walletNotice(error, wallet);
}

export function proofNotice(error: unknown, wallet: Wallet): Notice {
  if (refusalOf(error) === "unsupported") return bad(copy.notices.cannotProve(wallet.name));
  return refusalOf(error) === "rejected" ? info(copy.notices.rejectedProof) : walletNotice(error, wallet);
}

export function paymentNotice(error: unknown, wallet: Wallet): Notice {
  const refusal = refusalOf(error);
  if (refusal === "rejected") return info(copy.notices.rejectedPayment);
  if (refusal === "unsupported") return bad(copy.notices.cannotSend(wallet.name));
  if (refusal === "other") return bad(withDetail(copy.notices.maybeSent, error));
  return walletNotice(error, wallet);
}

export function walletNotice(error: unknown, wallet: Wallet): Notice {
  switch (refusalOf(error)) {
    case "unauthorized":
      return bad(copy.notices.unauthorized);
    case "already_asking":
      return info(copy.notices.alreadyAsking(wallet.name));
    case "disconnected":
      return bad(copy.notices.disconnected);
    case "incomplete":
      return bad(copy.notices.pageIncomplete);
    case "silent":
      return bad(copy.notices.silent(wallet.name));
    case "rejected":
      return info(copy.notices.rejectedPayment);
    default:
      return bad(withDetail(copy.notices.walletFailed, error));
  }
}

function withDetail(text: string, error: unknown): string {
  const detail = refused(error)?.detail ?? "";
  return detail ? `${text} ${copy.notices.saidWallet(detail)}` : text;
}
