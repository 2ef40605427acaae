import { beforeEach, expect, test, vi } from "vitest";
import { copy } from "../../src/copy";
import type { Option } from "../../src/flow/balances";
import { choiceOf, isSame, parseChoice } from "../../src/flow/choice";
import { contractOf, mostCoins, outlayOf, RouteCache, spenderOf, toolsOf, totalUsd } from "../../src/flow/route-cache";
import { amountOf } from "../../src/money";
import { Api } from "../../src/server/api";
import type { Route, RouteFee } from "../../src/server/types";
import { chain, checkout, ETH, FAR, HERE, json, NOW, refusal, respond, route, USDC, usdc } from "../fixtures";

const option: Option = { chainId: HERE, token: USDC, balance: null, usd: null, logo: null, isRequested: false, isEnough: true };
const fee = (different: Partial<RouteFee> = {}): RouteFee => ({
  name: "Bridge",
  token: { symbol: "USDC", contract_address: USDC.contract_address.toUpperCase().replace("X", "x") },
  amount: usdc(1_000),
  usd: "0.01",
  included: false,
  ...different,
});

function cache(now = (): number => NOW): RouteCache {
  return new RouteCache(new Api("req_1"), () => checkout(), now);
}

beforeEach(() => {
  vi.useFakeTimers();
});

test("routes of a token are requested once while they last", async () => {
  let now = NOW;
  const calls = respond(json({ routes: [route()] }), json({ routes: [route({ id: "route_2" })] }));
  const routes = cache(() => now);
  await routes.find("0x1", option);
  await routes.find("0x1", option);
  expect(calls).toHaveBeenCalledTimes(1);
  now += 55_000;
  expect(await routes.find("0x1", option)).toMatchObject([{ id: "route_2" }]);
});

test("routes of another account, chain or token are others", async () => {
  const calls = respond(...Array.from({ length: 4 }, () => json({ routes: [route()] })));
  const routes = cache();
  await routes.find("0x1", option);
  await routes.find("0x2", option);
  await routes.find("0x1", { ...option, chainId: FAR });
  await routes.find("0x1", { ...option, token: ETH });
  expect(calls).toHaveBeenCalledTimes(4);
});

test("failed request for routes is made again", async () => {
  const calls = respond(refusal(500, "internal"), json({ routes: [route()] }));
  const routes = cache();
  await expect(routes.find("0x1", option)).rejects.toThrow();
  expect(await routes.find("0x1", option)).toHaveLength(1);
  expect(calls).toHaveBeenCalledTimes(2);
});

test("reason for no route is shown, or a default", async () => {
  respond(json({ routes: [], reason: { code: "amount_too_small", message: "Too small." } }), json({ routes: [] }));
  const routes = cache();
  expect(await routes.find("0x1", option)).toBe("Too small.");
  expect(await routes.find("0x1", option)).toBe(copy.notices.noRoute);
});

test("outlay has the fees that leave the wallet in the same token", () => {
  const fees = [fee(), fee({ included: true }), fee({ token: { ...fee().token, chain_id: FAR } }), fee({ token: { symbol: "ETH" } })];
  expect(outlayOf(route({ fees })).formatted).toBe("10.501000");
});

test("total adds fees on top and the network's, if all are known", () => {
  const from = { chain_id: HERE, chain: chain(), token: USDC, amount: usdc(10_500_000), usd: "10.50" };
  const known = route({ from, fees: [fee(), fee({ included: true })], gas: { usd: "0.2" } });
  expect(Number(totalUsd(known))).toBeCloseTo(10.71);
  expect(totalUsd({ ...known, fees: [fee({ usd: null })] })).toBeNull();
  expect(Number(totalUsd({ ...known, gas: null }))).toBeCloseTo(10.51);
});

test("coins of a swap are the amount and fees with a tenth of margin", () => {
  const from = { chain_id: HERE, chain: chain(), token: ETH, amount: amountOf("1000", 18) };
  const fees = [fee({ amount: amountOf("100", 18) }), fee({ included: true, amount: amountOf("7", 18) })];
  expect(mostCoins(route({ from, fees }))).toBe(1110n);
  expect(mostCoins(route({ fees }))).toBe(110n);
});

test("contract, spender and tools come from the steps", () => {
  const steps = [
    { type: "swap", chain_id: HERE, tool: "Stargate", contract_address: "0xc", spender: "0xd" },
    { type: "cross", chain_id: HERE, tool: "Stargate" },
  ];
  const swap: Route = route({ type: "swap", steps });
  expect([contractOf(swap), spenderOf(swap), toolsOf(swap)]).toEqual(["0xc", "0xd", ["Stargate"]]);
  expect([contractOf(route()), spenderOf(route()), toolsOf(route())]).toEqual([null, null, []]);
});

test("choice is the token and the route's last tag", () => {
  const choice = choiceOf(option, route({ tags: ["recommended", "fastest"] }));
  expect(choice).toEqual({ chainId: HERE, token: USDC.contract_address, tag: "fastest" });
  expect(parseChoice(JSON.parse(JSON.stringify(choice)))).toEqual(choice);
  expect([isSame(choice!, option), isSame(choice!, { ...option, chainId: FAR })]).toEqual([true, false]);
  expect(choiceOf({ ...option, isRequested: true })).toBeNull();
});

test.each([null, 7, {}, { chainId: "1", token: "", tag: "" }])("stored choice %j is ignored", (stored) => {
  expect(parseChoice(stored)).toBeNull();
});
