import { describe, expect, test } from "vitest";
import type { EvmTransaction } from "../../src/server/types";
import { matchesShown, readTransaction } from "../../src/wallets/evm-review";
import type { Shown } from "../../src/wallets/wallet";
import { ETH, HERE, PAYER, RECIPIENT, STRANGER, USDC } from "../fixtures";

const word = (hex: string): string => hex.replace("0x", "").toLowerCase().padStart(64, "0");
const amount = (raw: bigint): string => word(raw.toString(16));
const REFERENCE = "9c".repeat(16);
const CONTRACT = `0x${"c0".repeat(20)}`;
const on = { account: PAYER, chainId: HERE };

const transfer: Shown = { ...on, kind: "transfer", token: USDC, recipient: RECIPIENT, rawAmount: "10500000" };
const transferred: EvmTransaction = {
  chainId: "0x7a69",
  from: PAYER.toLowerCase(),
  to: USDC.contract_address,
  data: `0xa9059cbb${word(RECIPIENT)}${amount(10_500_000n)}${REFERENCE}`,
  value: "0x0",
};
const coins: Shown = { ...on, kind: "transfer", token: ETH, recipient: RECIPIENT, rawAmount: "1000" };
const coinsSent: EvmTransaction = { chainId: "0x7a69", from: PAYER, to: RECIPIENT, value: "0x3e8", data: `0x${REFERENCE}` };
const allowance: Shown = { ...on, kind: "allowance", token: USDC, spender: CONTRACT, rawAmount: "10500000" };
const allowed: EvmTransaction = {
  ...transferred,
  data: `0x095ea7b3${word(CONTRACT)}${amount(10_500_000n)}`,
};
const call: Shown = { ...on, kind: "call", contract: CONTRACT, mostCoins: "1100" };
const called: EvmTransaction = { chainId: "0x7a69", from: PAYER, to: CONTRACT, data: "0xdeadbeef00", value: "0x44c" };

test.each<[string, EvmTransaction, Shown]>([
  ["token transfer", transferred, transfer],
  ["transfer of coins", coinsSent, coins],
  ["permission", allowed, allowance],
  ["call of a provider's contract", called, call],
])("%s as it was reviewed is sent to the wallet", (_, transaction, shown) => {
  expect(matchesShown(transaction, shown)).toBe(true);
});

test.each<[string, EvmTransaction, Shown, Partial<EvmTransaction>]>([
  ["another chain", transferred, transfer, { chainId: "0x1" }],
  ["another payer", transferred, transfer, { from: STRANGER }],
  ["another token", transferred, transfer, { to: STRANGER }],
  ["coins besides the token", transferred, transfer, { value: "0x1" }],
  ["another recipient", transferred, transfer, { data: `0xa9059cbb${word(STRANGER)}${amount(10_500_000n)}` }],
  ["another amount", transferred, transfer, { data: `0xa9059cbb${word(RECIPIENT)}${amount(10_510_000n)}` }],
  ["another call", transferred, transfer, { data: `0x095ea7b3${word(RECIPIENT)}${amount(10_500_000n)}` }],
  ["no data", transferred, transfer, { data: "0x" }],
  ["coins to another recipient", coinsSent, coins, { to: STRANGER }],
  ["more coins", coinsSent, coins, { value: "0x3e9" }],
  ["fewer coins", coinsSent, coins, { value: "0x3e7" }],
  ["another spender", allowed, allowance, { data: `0x095ea7b3${word(STRANGER)}${amount(10_500_000n)}` }],
  ["an unlimited permission", allowed, allowance, { data: `0x095ea7b3${word(CONTRACT)}${"f".repeat(64)}` }],
  ["data behind the permission", allowed, allowance, { data: `${allowed.data}00` }],
  ["another contract", called, call, { to: STRANGER }],
  ["more coins than the offer may take", called, call, { value: "0x44d" }],
  ["a call of nothing", called, call, { data: "0x" }],
])("transaction with %s is not sent", (_, transaction, shown, different) => {
  expect(matchesShown({ ...transaction, ...different }, shown)).toBe(false);
});

describe("what the wallet signs", () => {
  test("of a token transfer is read from its data", () => {
    expect(readTransaction(transferred, transfer)).toEqual({
      chainId: HERE,
      party: RECIPIENT,
      contract: USDC.contract_address,
      rawAmount: "10500000",
    });
  });

  test("of coins is read from its value", () => {
    expect(readTransaction(coinsSent, coins)).toEqual({ chainId: HERE, party: RECIPIENT, contract: null, rawAmount: "1000" });
  });

  test("of a provider's call names the contract and the coins", () => {
    expect(readTransaction(called, call)).toEqual({ chainId: HERE, party: null, contract: CONTRACT, rawAmount: "1100" });
  });
});
