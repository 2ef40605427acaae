import { expect, test } from "vitest";
import { copy } from "../../src/copy";
import { amountOf } from "../../src/money";
import type { PayContext } from "../../src/screens/context";
import { reviewScreen } from "../../src/screens/review";
import type { RouteFee } from "../../src/server/types";
import { chains, checkout, PAYER, route, solana, SOLANA, USDC, wallet } from "../fixtures";

const lamports = (raw: number) => amountOf(String(raw), 9);
const gas = { token: { symbol: "SOL" }, amount: lamports(5_000), usd: "0.00" };
const deposit: RouteFee = {
  name: "Account deposit",
  token: { symbol: "SOL", contract_address: "", chain_id: SOLANA },
  amount: lamports(2_039_280),
  usd: "0.41",
  included: false,
};

/** Return the facts of the review by their names, without the isolating marks around amounts. */
function reviewed(fees: RouteFee[]): Record<string, string> {
  const flow = { means: { offersSwaps: false } };
  const context = { checkout: checkout(), chains, flow, warning: null } as unknown as PayContext;
  const option = { token: USDC, chainId: SOLANA, chainName: solana.name, balance: null, usd: null };
  const step = { wallet: wallet({ family: "solana" }), account: PAYER, option, route: route({ fees, gas }) };
  const panel = document.createElement("div");
  panel.append(...reviewScreen(step as unknown as Parameters<typeof reviewScreen>[0], context).nodes);
  const rows = [...panel.querySelectorAll(".fact")].map((row) => [
    row.querySelector("dt")?.textContent ?? "",
    (row.querySelector("dd")?.textContent ?? "").replace(/[\u2066-\u2069]/g, ""),
  ]);
  return Object.fromEntries(rows);
}

test("deposit of the recipient's account has a row, and is in the total", () => {
  const facts = reviewed([deposit]);
  expect(facts[copy.networkFee]).toBe("about 0.000005 SOL · <\u00a0$0.01");
  expect(facts[copy.accountDeposit]).toBe(`about 0.00203 SOL · $0.41${copy.accountDepositHelp}`);
  expect(facts[copy.total]).toBe("10.50 USDC+ about 0.00204 SOL");
});

test("payment to an account that exists has neither", () => {
  expect(Object.keys(reviewed([]))).toEqual([copy.amount, copy.network, copy.networkFee, copy.recipient, copy.payer]);
});
