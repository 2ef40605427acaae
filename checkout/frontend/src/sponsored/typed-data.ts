/** The typed data of a transfer that another account sends (EIP-3009). Pure. */

import type { Token, TypedData } from "../server/types";
import type { Signed } from "../wallets/wallet";

/** The reviewed transfer. Times are in milliseconds. */
export interface Expected {
  account: string;
  chainId: number;
  token: Token;
  recipient: string;
  rawAmount: string;
  now: number;
  /** When the request ends. */
  expiresAt: number;
}

const NAME = "TransferWithAuthorization";
const TYPES = {
  EIP712Domain: fields("string name,string version,uint256 chainId,address verifyingContract"),
  [NAME]: fields("address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce"),
};
const LONGEST_MS = 15 * 60_000;
/** The maximum difference between the clocks of the customer and the server. */
const MARGIN_MS = 60_000;
const NONCE = /^0x[0-9a-f]{64}$/i;
const SECONDS = /^[1-9][0-9]{9,11}$/;

/**
 * Return the typed data to sign, made from the reviewed transfer. Only these values come from the server's data: name
 * and version of the domain, the end, and the nonce. Return null if the server's data is different in any other way.
 */
export function transferToSign(built: TypedData, expected: Expected): TypedData | null {
  const { account, chainId, token, recipient, rawAmount, now, expiresAt } = expected;
  const { name, version } = built.domain;
  const { validBefore, nonce } = built.message;
  if (typeof name !== "string" || typeof version !== "string") return null;
  if (!NONCE.test(String(nonce)) || !SECONDS.test(String(validBefore))) return null;
  const end = Number(validBefore) * 1000;
  if (end <= now || end > Math.min(now + LONGEST_MS, expiresAt) + MARGIN_MS) return null;
  const own: TypedData = {
    types: TYPES,
    primaryType: NAME,
    domain: { name, version, chainId, verifyingContract: token.contract_address },
    message: { from: account, to: recipient, value: rawAmount, validAfter: "0", validBefore, nonce },
  };
  return token.contract_address && canonical(own) === canonical(built) ? own : null;
}

/** Decode typed data of `transferToSign` for display. */
export function readTransfer({ domain, message }: TypedData): Signed {
  return {
    chainId: Number(domain.chainId),
    party: String(message.to),
    contract: String(domain.verifyingContract),
    rawAmount: String(message.value),
    validUntil: new Date(Number(message.validBefore) * 1000).toISOString(),
  };
}

function fields(list: string): { name: string; type: string }[] {
  return list.split(",").map((field) => {
    const [type = "", name = ""] = field.split(" ");
    return { name, type };
  });
}

/**
 * The data as a text to compare. The text doesn't depend on the order of keys or the letter case of addresses. The
 * number 1 and the text "1" give the same result.
 */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(String(value).toLowerCase());
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join()}}`;
}
