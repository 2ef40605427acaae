import { expect, test } from "vitest";
import { Flow } from "../../src/flow/flow";
import type { Means } from "../../src/flow/stage";
import type { Step } from "../../src/flow/states";
import { checkout, ETH, FAR, HERE, PAYER, route, USDC, usdc, wallet } from "../fixtures";

const connected = { wallet: wallet(), account: PAYER };
const requested = { chainId: HERE, token: USDC, balance: usdc(1), usd: null, logo: null, isRequested: true, isEnough: true };
const other = { ...requested, chainId: FAR, token: ETH, isRequested: false };
const direct = { ...connected, option: requested, route: route(), routes: [route()] };
const swap = { ...direct, option: other };
const plan = { asks: ["pay" as const], at: 0 };

/** Return the flow after these steps, which begin at the list of wallets. */
function after(...steps: Step[]): Flow {
  const events = { changed: () => undefined, connected: () => undefined, chose: () => undefined };
  const api = { routes: () => new Promise(() => undefined) };
  const flow = new Flow({ api, events, checkout } as unknown as Means);
  for (const step of [{ at: "looking", ...connected } satisfies Step, ...steps]) flow.go(step);
  return flow;
}

const quoting = (option: typeof requested): Step => ({ at: "quoting", ...connected, option });
const tokens: Step = { at: "tokens", ...connected };
const review = (reviewed: typeof direct): Step => ({ at: "review", ...reviewed });
const confirming: Step[] = [{ at: "building", ...direct }, { at: "confirming", plan, signed: null, ...direct }];

test.each<[string, Step[], number, string]>([
  ["connected wallet", [], 1, "choose"],
  ["tokens", [tokens], 1, "choose"],
  ["quote of the requested token", [quoting(requested)], 1, "choose"],
  ["quote after the tokens", [tokens, quoting(requested)], 2, "tokens"],
  ["review", [quoting(requested), review(direct)], 1, "choose"],
  ["review after the tokens", [tokens, quoting(requested), review(direct)], 2, "tokens"],
  ["review of another token after a reload", [quoting(other), review(swap)], 2, "tokens"],
  ["comparison", [tokens, quoting(other), review(swap), { at: "routes", ...connected, option: other, routes: [route()] }], 3, "review"],
  ["transaction being built", [quoting(requested), review(direct), { at: "building", ...direct }], 2, "review"],
  ["prompt", [quoting(requested), review(direct), ...confirming], 2, "review"],
])("step back from the %s leads to one step less", (_, steps, depth, expected) => {
  const flow = after(...steps);
  expect(flow.depth).toBe(depth);
  flow.back();
  expect([flow.step.at, flow.depth]).toEqual([expected, depth - 1]);
});

test("step back from the tokens leads to the review that came before them", () => {
  const flow = after(quoting(requested), review(direct));
  flow.showTokens();
  expect(flow.depth).toBe(2);
  flow.back();
  expect([flow.step.at, flow.depth]).toEqual(["quoting", 1]);
  flow.back();
  expect(flow.step.at).toBe("choose");
});

test("wallet's prompt that is left by a step back is said to be open", () => {
  const flow = after(quoting(requested), review(direct), ...confirming);
  flow.back();
  expect(flow.step).toMatchObject({ at: "review", notice: { tone: "info" } });
});
