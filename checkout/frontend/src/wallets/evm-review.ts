/** Whether an Ethereum transaction does what the customer was shown. Pure. */

import type { EvmTransaction } from "../server/types";
import type { Shown, Signed } from "./wallet";

const TRANSFER = "0xa9059cbb";
const APPROVE = "0x095ea7b3";

/** A transfer and an allowance are read whole; of a routing provider's call, its contract and the coins that it takes. */
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
      // The payment's reference may follow the arguments.
      const call = tokenCall(TRANSFER, shown.recipient, shown.rawAmount);
      return same(transaction.to, shown.token.contract_address) && value === 0n && data.startsWith(call);
    }
  }
}

/** What the transaction's own bytes say, of one that matches what was shown. */
export function readTransaction(transaction: EvmTransaction, shown: Shown): Signed {
  const { to, value, data = "0x" } = transaction;
  const chainId = Number(transaction.chainId);
  const coins = BigInt(value ?? "0x0").toString();
  if (shown.kind === "call") return { chainId, party: null, contract: to, rawAmount: coins };
  const [selector, known] = shown.kind === "allowance" ? [APPROVE, shown.spender] : [TRANSFER, shown.recipient];
  if (!data.toLowerCase().startsWith(selector)) return { chainId, party: spelt(to, known), contract: null, rawAmount: coins };
  const party = spelt(`0x${data.slice(34, 74)}`, known);
  return { chainId, party, contract: to, rawAmount: BigInt(`0x${data.slice(74, 138)}`).toString() };
}

/** The address with the capitals that people compare by, where it is the known one. */
function spelt(address: string, known: string): string {
  return same(address, known) ? known : address;
}

function tokenCall(selector: string, account: string, rawAmount: string): string {
  return selector + account.slice(2).toLowerCase().padStart(64, "0") + BigInt(rawAmount).toString(16).padStart(64, "0");
}

function same(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
