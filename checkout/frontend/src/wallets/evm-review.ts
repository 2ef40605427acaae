/** Checks that an Ethereum transaction is the one that the customer saw. Pure. */

import type { EvmTransaction } from "../server/types";
import type { Shown, Signed } from "./wallet";

const TRANSFER = "0xa9059cbb";
const APPROVE = "0x095ea7b3";

/**
 * Check transfers and approvals completely. For a call of a provider's contract, check only the contract and the amount
 * of native coin.
 */
export function matchesShown(transaction: EvmTransaction, shown: Shown): boolean {
  if (Number(transaction.chainId) !== shown.chainId || !same(transaction.from, shown.account)) return false;
  const data = (transaction.data ?? "0x").toLowerCase();
  const value = BigInt(transaction.value ?? "0x0");
  switch (shown.kind) {
    case "call":
      return same(transaction.to, shown.contract) && value <= BigInt(shown.mostCoins) && data.length > 10;
    case "allowance": {
      const call = tokenCall(APPROVE, shown.spender, shown.rawAmount);
      return same(transaction.to, shown.token.contract_address) && value === 0n && data === call;
    }
    case "transfer": {
      if (!shown.token.contract_address) {
        return same(transaction.to, shown.recipient) && value === BigInt(shown.rawAmount);
      }
      // After the arguments, the call data may contain the payment's reference.
      const call = tokenCall(TRANSFER, shown.recipient, shown.rawAmount);
      return same(transaction.to, shown.token.contract_address) && value === 0n && data.startsWith(call);
    }
  }
}

/** Decode a transaction that matches the shown facts. */
export function readTransaction(transaction: EvmTransaction, shown: Shown): Signed {
  const { to, value, data = "0x" } = transaction;
  const chainId = Number(transaction.chainId);
  const coins = BigInt(value ?? "0x0").toString();
  if (shown.kind === "call") return { chainId, party: null, contract: to, rawAmount: coins };
  const [selector, expected] = shown.kind === "allowance" ? [APPROVE, shown.spender] : [TRANSFER, shown.recipient];
  if (!data.toLowerCase().startsWith(selector)) {
    return { chainId, party: withCaseOf(expected, to), contract: null, rawAmount: coins };
  }
  const party = withCaseOf(expected, `0x${data.slice(34, 74)}`);
  return { chainId, party, contract: to, rawAmount: BigInt(`0x${data.slice(74, 138)}`).toString() };
}

/** If the address is the expected one, return it in the same letter case, so that customers can compare both. */
function withCaseOf(expected: string, address: string): string {
  return same(address, expected) ? expected : address;
}

function tokenCall(selector: string, account: string, rawAmount: string): string {
  return selector + account.slice(2).toLowerCase().padStart(64, "0") + BigInt(rawAmount).toString(16).padStart(64, "0");
}

function same(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
