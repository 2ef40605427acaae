import { beforeEach, expect, test, vi } from "vitest";
import { copy } from "../../src/copy";
import type { Reviewed } from "../../src/flow/states";
import { words } from "../../src/pay/words";
import { batchNotice, batchScreen } from "../../src/screens/batch";
import { batchFacts } from "../../src/screens/batch-facts";
import { newBatch, type Batch, type BatchEnd } from "../../src/server/batches";
import { chains, HERE, NOW, PAYER, route, STRANGER, USDC, wallet } from "../fixtures";

const batch = (different: Partial<Batch> = {}): Batch => ({
  ...newBatch({ id: "0x01", chainId: HERE, routeId: "rt_1" }, { wallet: "Stub Wallet", account: PAYER, prompt: 1, seconds: null }),
  isConfirmed: true,
  ...different,
});
const text = (nodes: Node[]): string => nodes.map((node) => node.textContent).join(" ");

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime(NOW);
});

test("wait says to keep the page open, and offers no second payment", () => {
  const { name, nodes } = batchScreen(batch(), () => undefined);
  expect(name).toBe("processing");
  expect(text(nodes)).toContain(copy.batch.sending("Stub Wallet"));
  expect(nodes.some((node) => (node as Element).querySelector("button"))).toBe(false);
});

test("long wait warns before it offers to pay again", () => {
  const payAgain = vi.fn();
  const { name, nodes } = batchScreen(batch({ sentAt: NOW - 3 * 60_000 }), payAgain);
  expect([name, text(nodes).includes(copy.batch.late("Stub Wallet"))]).toEqual(["late", true]);
  nodes.map((node) => (node as Element).querySelector<HTMLButtonElement>("#not-sent")).find(Boolean)?.click();
  expect(payAgain).toHaveBeenCalledOnce();
});

test.each<[BatchEnd, string]>([
  ["unsent", "info"],
  ["reverted", "error"],
  ["partial", "error"],
  ["lost", "error"],
])("batch that ended as %s has its own notice", (ended, tone) => {
  expect(batchNotice(batch({ ended }))).toEqual({ tone, text: copy.batch[ended]("Stub Wallet") });
});

test("prompt lists each call, and each contract once", () => {
  const reviewed = { wallet: wallet(), route: route({ type: "swap" }) } as Reviewed;
  const allow = { chainId: HERE, party: STRANGER, contract: USDC.contract_address };
  const calls = [
    { ...allow, rawAmount: "0" },
    { ...allow, rawAmount: "10500000" },
    { chainId: HERE, party: null, contract: STRANGER, rawAmount: "0" },
  ];
  const section = batchFacts(calls, reviewed, chains, "Pay 10.50 USDC");
  const steps = [...section.querySelectorAll("li > span:first-child")].map((item) => item.textContent);
  expect(steps).toEqual([words.stepReset("USDC"), words.stepAllow("10.50 USDC"), "Pay 10.50 USDC"].map(plain));
  const names = [...section.querySelectorAll("dt")].map((name) => name.textContent);
  expect(names).toEqual([words.network, words.spender, words.tokenContract, words.contract]);
});

/** Remove the bidi isolates around amounts and names. */
function plain(marked: string): string {
  const holder = document.createElement("div");
  holder.textContent = marked;
  return (holder.textContent ?? "").replace(/[\u2066-\u2069\ue000-\uf8ff]/g, "");
}
