import { expect, test } from "vitest";
import { copy } from "../../src/copy";
import type { Notice } from "../../src/flow/notices";
import { amountOf } from "../../src/money";
import { words } from "../../src/pay/words";
import type { PayContext } from "../../src/screens/context";
import { priceText } from "../../src/screens/parts";
import { reviewScreen } from "../../src/screens/review";
import type { Amount, Route, RouteFee } from "../../src/server/types";
import { chains, checkout, HERE, PAYER, RECIPIENT, route, SOLANA, USDC, usdc, wallet } from "../fixtures";

const lamports = (raw: number) => amountOf(String(raw), 9);
/** Of 10^-9 ETH. */
const wei = (billions: number) => amountOf(`${billions}000000000`, 18);
const gas = { token: { symbol: "SOL" }, amount: lamports(5_000), usd: "0.00" };
const deposit: RouteFee = {
  name: "Account deposit",
  token: { symbol: "SOL", contract_address: "", chain_id: SOLANA },
  amount: lamports(2_039_280),
  usd: "0.41",
  included: false,
};

interface Given {
  family?: string;
  account?: string;
  offersSwaps?: boolean;
  notice?: Notice;
  /** The wallet's balances on the route's chain, by token address. */
  balances?: Record<string, Amount>;
}

function drawn(reviewed: Route, { family = "evm", account = PAYER, offersSwaps = true, balances = {}, notice }: Given = {}): HTMLElement {
  const balanceOf = (_: number, address: string): Amount | null => balances[address] ?? null;
  const flow = { means: { offersSwaps }, balances: { balanceOf } };
  const context = { checkout: checkout(), chains, flow, warning: null } as unknown as PayContext;
  const option = { token: USDC, chainId: reviewed.from.chain_id, balance: null, usd: null };
  const step = { wallet: wallet({ family }), account, option, route: reviewed, ...(notice ? { notice } : {}) };
  const panel = document.createElement("div");
  panel.append(...reviewScreen(step as unknown as Parameters<typeof reviewScreen>[0], context).nodes);
  return panel;
}

const textOf = (element: Element | null | undefined): string => (element?.textContent ?? "").replace(/[\u2066-\u2069]/g, "");

/** Return the panel's facts by name, without the bidi isolates around amounts. */
function factsOf(panel: HTMLElement): Record<string, string> {
  const rows = [...panel.querySelectorAll(".fact")].map((row) => [textOf(row.querySelector("dt")), textOf(row.querySelector("dd"))]);
  return Object.fromEntries(rows);
}

const reviewed = (fees: RouteFee[]): Record<string, string> => {
  const from = { ...route().from, usd: "10.50" };
  return factsOf(drawn(route({ fees, gas, from }), { family: "solana", offersSwaps: false }));
};

const buttonsOf = (panel: HTMLElement): string[] => [...panel.querySelectorAll(".button")].map(({ id, className }) => `${id} ${className.split("--")[1]}`);

const converted = (different: Partial<Route> = {}): Route => {
  const to = { ...route().to, amount: usdc(10_552_764), usd: "10.55" };
  const own = { contract_address: "", chain_id: HERE, symbol: "ETH" };
  const fees = [{ name: "Bridge fee", token: own, amount: wei(40_000), usd: "0.10", included: false }];
  return route({ type: "swap", from: { ...route().from, usd: "10.58" }, to, fees, gas: { token: own, amount: wei(20_000), usd: "0.0004" }, ...different });
};

test("deposit of the recipient's account has a row, and is in the total", () => {
  const facts = reviewed([deposit]);
  expect(facts[words.networkFee]).toBe("about 0.000005 SOL · <\u00a0$0.01");
  expect(facts[words.accountDeposit]).toBe(`about 0.00203 SOL · $0.41${words.accountDepositHelp}`);
  expect(facts[words.total]).toBe("10.50 USDC+ about 0.00204 SOLabout $10.91");
});

test("payment to an account that exists has neither", () => {
  expect(Object.keys(reviewed([]))).toEqual([copy.amount, words.network, words.networkFee, words.recipient, words.payer]);
});

test("conversion has one total with all of its costs", () => {
  const facts = factsOf(drawn(converted()));
  expect(facts[words.total]).toBe("about $10.68");
  expect(facts[words.youPay]).toContain("$10.58");
  expect(facts[words.conversionCost]).toBe("$0.03");
  expect(facts[words.networkFee]).toContain("<\u00a0$0.01");
});

test("price is beside the amount in the review, and only its rate once a part is paid", () => {
  const written = document.createElement("div");
  written.innerHTML = '<b id="price">€9.57</b><b id="rate">1 USDC = €0.9114</b>';
  document.body.append(written);
  expect(factsOf(drawn(route()))[copy.amount]).toBe("10.50 USDC€9.57 · 1 USDC = €0.9114");
  expect(factsOf(drawn(converted()))[words.receives("Alice's Bakery")]).toContain("€9.57 · 1 USDC = €0.9114");
  const part = checkout({ amount_remaining: usdc(3_000_000) });
  expect(priceText(part)?.replace(/[\u2066-\u2069]/g, "")).toBe("1 USDC = €0.9114");
  written.remove();
  expect(priceText(checkout())).toBeNull();
});

test("wallet without coins for the fee is offered other ways first", () => {
  const direct = route({ gas: { token: { symbol: "ETH" }, amount: wei(20_000), usd: null } });
  const balances = { [USDC.contract_address]: usdc(20_000_000), "": wei(5) };
  const panel = drawn(direct, { balances });
  expect(textOf(panel)).toContain("The network fee needs about 0.00002 ETH. This wallet has <\u00a00.000001 ETH.");
  expect(buttonsOf(panel)).toEqual(["other-token primary", "use-another-wallet secondary", "copy-account secondary", "pay quiet"]);
  expect(panel.querySelector("#account")?.getAttribute("data-value")).toBe(PAYER);
});

test("wallet without the token is offered another wallet if only one token pays", () => {
  const panel = drawn(route(), { balances: { [USDC.contract_address]: usdc(3_000_000) }, offersSwaps: false });
  expect(textOf(panel)).toContain("This payment needs 10.50 USDC. This wallet has 3.00 USDC.");
  expect(buttonsOf(panel)[0]).toBe("use-another-wallet primary");
});

test("wallet that the server found short is offered other ways first", () => {
  const notice = { tone: "error" as const, text: "Too little ETH.", isLacking: true as const };
  const panel = drawn(route(), { notice, balances: { [USDC.contract_address]: usdc(3_000_000) } });
  expect([...panel.querySelectorAll(".notice")].map(textOf)).toEqual(["Too little ETH."]);
  expect(buttonsOf(panel)[0]).toBe("other-token primary");
});

test("wallet that is the recipient is refused", () => {
  const panel = drawn(route(), { account: RECIPIENT.toLowerCase() });
  expect(textOf(panel)).toContain(words.ownWallet);
  expect(buttonsOf(panel)).toEqual(["use-another-wallet primary"]);
});
