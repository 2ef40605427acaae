import { beforeEach, expect, test, vi } from "vitest";
import { Balances } from "../../src/flow/balances";
import { Api } from "../../src/server/api";
import type { Held, Token } from "../../src/server/types";
import { amountOf } from "../../src/money";
import { checkout, FAR, HERE, json, respond, USDC } from "../fixtures";

const token = (symbol: string, id: number | null = 9): Token => ({ id, symbol, name: symbol, decimals: 6, contract_address: `0x${symbol}` });

function held(of: Token, different: Partial<Held> & { raw?: string } = {}): Held {
  const { raw = "20000000", ...rest } = different;
  return { chain_id: HERE, token: of, balance: amountOf(raw, 6), usd: null, ...rest };
}

const balances = (): Balances => new Balances(new Api("req_1"), "0x1", () => checkout(), vi.fn());

async function loaded(essential: Held[], all: Held[] = []): Promise<Balances> {
  const list = balances();
  respond(json({ balances: essential, unavailable: [] }), json({ tokens: all, unavailable: [] }));
  await list.load(false);
  return list;
}

const names = (list: Balances, canHoldRequested = true): string[] => list.options(canHoldRequested).map(({ token: { symbol } }) => symbol);

beforeEach(() => {
  vi.useFakeTimers();
});

test("tokens are sorted by how well they pay", async () => {
  const list = await loaded([
    held(token("FOREIGN", null)),
    held(token("SHORT"), { sufficient: false }),
    held(token("CHEAP"), { usd: "1" }),
    held(token("DEAR"), { usd: "100" }),
    held({ ...USDC, contract_address: "0xfar" }, { chain_id: FAR }),
    held(USDC),
    held(token("EMPTY"), { raw: "0" }),
  ]);
  expect(names(list)).toEqual(["USDC", "USDC", "DEAR", "CHEAP", "FOREIGN", "SHORT"]);
  expect(list.options(true)[0]?.isRequested).toBe(true);
});

test("wallet of another family isn't offered the requested token", async () => {
  const list = await loaded([held(token("SOL"))]);
  expect([names(list, true), names(list, false)]).toEqual([["USDC", "SOL"], ["SOL"]]);
});

test.each([
  ["10500000", true],
  ["10499999", false],
])("balance %s of the requested token is enough: %s", async (raw, expected) => {
  const list = balances();
  respond(json({ balances: [held(USDC, { raw })], unavailable: [] }));
  expect(await list.hasRequested()).toBe(expected);
  expect(list.options(true)[0]?.isEnough).toBe(expected);
});

test("balances on a chain are loaded once for the review", async () => {
  const list = balances();
  const calls = respond(json({ balances: [held(USDC), held({ ...USDC, contract_address: "" })], unavailable: [] }));
  await list.ensure(HERE);
  await list.ensure(HERE);
  expect(calls).toHaveBeenCalledTimes(1);
  expect(list.balanceOf(HERE, USDC.contract_address)?.raw).toBe("20000000");
  expect(list.balanceOf(FAR, USDC.contract_address)).toBeNull();
});

test("unreachable server leaves balances unknown in the review", async () => {
  const list = balances();
  respond(null);
  await list.ensure(HERE);
  expect(list.balanceOf(HERE, "")).toBeNull();
});

test("requested token is offered if its balance is unknown", async () => {
  const list = balances();
  respond(null);
  expect(await list.hasRequested()).toBeNull();
  expect(list.options(true)[0]).toMatchObject({ balance: null, isEnough: true, isRequested: true });
});

test("second response keeps what only the first one says", async () => {
  const list = await loaded([held(token("DAI"), { sufficient: false, usd: "5" })], [held(token("DAI"))]);
  expect(list.options(true)[1]).toMatchObject({ isEnough: false, usd: "5" });
});

test("lost request leaves the list incomplete, and it can be reloaded", async () => {
  const list = balances();
  respond(json({ balances: [], unavailable: [{ chain_id: FAR, code: "node_unavailable" }] }), null);
  await list.load(false);
  expect([list.isIncomplete, list.unavailable]).toEqual([true, [FAR]]);
  const calls = respond(json({ balances: [], unavailable: [] }), json({ tokens: [], unavailable: [] }));
  await list.load(false);
  await list.load(false);
  expect([list.isIncomplete, list.unavailable, calls.mock.calls.length]).toEqual([false, [], 2]);
});
