import { beforeEach, expect, test } from "vitest";
import { destinationOf } from "../../src/page/destination";
import { UnderWay } from "../../src/page/under-way";
import { Outbox } from "../../src/server/outbox";
import type { Checkout } from "../../src/server/types";
import { checkout, HASH, HERE, PAYER, payment, usdc } from "../fixtures";

beforeEach(() => localStorage.clear());

function underWay(shown: Checkout): { outbox: Outbox; on: UnderWay } {
  const outbox = new Outbox(shown.id);
  return { outbox, on: new UnderWay(outbox, () => shown) };
}

test("a bound payment that a node has seen is under way", () => {
  const { on } = underWay(checkout({ payments: [payment()] }));
  expect(on.payment?.id).toBe("pay_1");
  expect(on.isAny).toBe(true);
  expect(on.isExpected).toBe(false);
  expect(on.state).toBe("processing");
});

test("a hash that this browser sent is awaited until a node has seen it", () => {
  const { on, outbox } = underWay(checkout({ payments: [] }));
  expect(on.state).toBe("active");
  outbox.remember({ transaction_hash: HASH, chain_id: HERE }, { wallet: "Stub Wallet", account: PAYER, prompt: 1, seconds: null });
  expect(on.awaited?.hash).toBe(HASH);
  expect(on.isExpected).toBe(true);
  expect(on.state).toBe("processing");
});

test("a request that is paid in part is partly paid", () => {
  const { on } = underWay(checkout({ payments: [], amount_paid: usdc(4_000_000), amount_remaining: usdc(6_000_000) }));
  expect(on.state).toBe("partly_paid");
});

test("the page leads to the shop only if the request was paid here", () => {
  const shown = checkout({ status: "completed", redirect_url: "https://shop.example/thanks", payments: [] });
  const { on } = underWay(shown);
  const here = { wasPaidHere: true, wasCancelledHere: false };
  expect(destinationOf(shown, on, here)).toBe("https://shop.example/thanks");
  expect(destinationOf(shown, on, { ...here, wasPaidHere: false })).toBeNull();
});

test("a customer who paid a cancelled request stays", () => {
  const ended = { status: "cancelled" as const, cancel_url: "https://shop.example/cart" };
  const here = { wasPaidHere: false, wasCancelledHere: true };
  const unpaid = checkout({ ...ended, payments: [] });
  expect(destinationOf(unpaid, underWay(unpaid).on, here)).toBe("https://shop.example/cart");
  const unbound = payment({ status: "failed", failure_code: "transaction_not_bound" });
  const paid = checkout({ ...ended, payments: [unbound] });
  expect(destinationOf(paid, underWay(paid).on, here)).toBeNull();
});
