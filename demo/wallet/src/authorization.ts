import { encodeFunctionData, erc20Abi, isAddress, type Address } from "viem";
import type { Chain } from "./node";
import { summariseTokenCall } from "./transaction";
import type { Summary } from "./window";

interface Typed {
  primaryType?: unknown;
  domain?: { verifyingContract?: unknown };
  message?: { from?: unknown; to?: unknown; value?: unknown; validBefore?: unknown };
}

/**
 * Describe a transfer that another account sends (EIP-3009). Return null for any other data, and for a transfer of
 * another account.
 */
export async function summariseAuthorization(chain: Chain, account: Address, typed: Typed | null): Promise<Summary | null> {
  const { primaryType, domain, message } = typed ?? {};
  const [token, from, to] = [domain?.verifyingContract, message?.from, message?.to].map(String);
  if (primaryType !== "TransferWithAuthorization" || !isAddress(token!) || !isAddress(to!)) return null;
  if (from!.toLowerCase() !== account.toLowerCase()) return null;
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to!, BigInt(String(message?.value))] });
  const transfer = await summariseTokenCall(chain, account, token!, data, true);
  const end = new Date(Number(message?.validBefore) * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return {
    ...transfer,
    title: "Sign a transfer",
    note: `Anyone can send it, once, until ${end}`,
    fee: { value: "none", detail: "the sender pays it" },
    warning: null,
  };
}
