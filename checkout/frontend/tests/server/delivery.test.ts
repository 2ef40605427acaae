import { beforeEach, expect, test, vi } from "vitest";
import { Api } from "../../src/server/api";
import { Delivery } from "../../src/server/delivery";
import { Outbox } from "../../src/server/outbox";
import { HASH, HERE, json, PAYER, payment, refusal, respond } from "../fixtures";

const changed = vi.fn();
const events = { delivered: vi.fn(), refused: vi.fn(), authorized: vi.fn(), unauthorized: vi.fn() };

function delivery(): { outbox: Outbox; delivery: Delivery } {
  const outbox = new Outbox("req_1");
  outbox.remember({ transaction_hash: HASH, chain_id: HERE }, { wallet: "Stub Wallet", account: PAYER, prompt: 1, seconds: 40 });
  return { outbox, delivery: new Delivery(new Api("req_1"), outbox, changed, events) };
}

beforeEach(() => {
  vi.useFakeTimers();
  Object.values(events).forEach((event) => event.mockReset());
});

test("hash is submitted until the server has it, with longer pauses", async () => {
  const calls = respond(null, refusal(503, "busy"), null, json(payment(), 201));
  const { outbox, delivery: running } = delivery();
  void running.run();
  await vi.advanceTimersByTimeAsync(0);
  expect([running.isRetrying, outbox.next?.transaction_hash]).toEqual([true, HASH]);
  for (const [pause, made] of [[1_000, 2], [2_000, 3], [4_000, 4]] as const) {
    await vi.advanceTimersByTimeAsync(pause - 1);
    expect(calls).toHaveBeenCalledTimes(made - 1);
    await vi.advanceTimersByTimeAsync(1);
    expect(calls).toHaveBeenCalledTimes(made);
  }
  expect([running.isRetrying, outbox.next]).toEqual([false, undefined]);
  expect(events.delivered).toHaveBeenCalledTimes(1);
});

test("pause is at least as long as the server says", async () => {
  const calls = respond(refusal(429, "rate_limited", "", { "Retry-After": "20" }), json(payment(), 201));
  void delivery().delivery.run();
  await vi.advanceTimersByTimeAsync(19_999);
  expect(calls).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(calls).toHaveBeenCalledTimes(2);
});

test.each(["a connection", "a new call"])("%s ends the pause", async (way) => {
  const calls = respond(null, json(payment(), 201));
  const { delivery: running } = delivery();
  void running.run();
  await vi.advanceTimersByTimeAsync(0);
  if (way === "a connection") window.dispatchEvent(new Event("online"));
  else void running.run();
  await vi.advanceTimersByTimeAsync(0);
  expect(calls).toHaveBeenCalledTimes(2);
});

test("rejected hash is reported with the server's message", async () => {
  respond(refusal(422, "invalid_hash", "Not a hash."));
  const { outbox, delivery: running } = delivery();
  events.refused.mockImplementation(({ transaction_hash }) => outbox.drop(transaction_hash));
  await running.run();
  expect(events.refused).toHaveBeenCalledWith(expect.objectContaining({ transaction_hash: HASH }), expect.objectContaining({ message: "Not a hash." }));
  expect(events.delivered).not.toHaveBeenCalled();
});

test.each([
  ["page", new Response("<h1>Forbidden</h1>", { status: 403 })],
  ["error", json({ error: { code: "403", message: "Forbidden" } }, 403)],
])("firewall's %s does not remove the hash of a payment", async (_, blocked) => {
  const calls = respond(blocked, json(payment(), 201));
  const { outbox, delivery: running } = delivery();
  events.refused.mockImplementation(({ transaction_hash }) => outbox.drop(transaction_hash));
  void running.run();
  await vi.advanceTimersByTimeAsync(0);
  expect([running.isRetrying, outbox.next?.transaction_hash, outbox.isOwn(HASH)]).toEqual([true, HASH, true]);
  expect(events.refused).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1_000);
  expect([calls.mock.calls.length, outbox.next, events.delivered.mock.calls.length]).toEqual([2, undefined, 1]);
});

const SIGNED = { routeId: "route_1", authorization: { signature: "0x1b" }, paymentId: null, sentAt: 0, seconds: null };

test("signature is submitted before a hash, until the server has it", async () => {
  const calls = respond(null, json(payment({ transaction_hash: null, sponsored: true }), 201), json(payment(), 201));
  const { outbox, delivery: running } = delivery();
  outbox.sign(SIGNED);
  events.authorized.mockImplementation(({ routeId }, { id }) => outbox.authorized(routeId, id));
  void running.run();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(calls.mock.calls.map(([url]) => url.split("/").pop())).toEqual(["authorizations", "authorizations", "payments"]);
  expect(JSON.parse(calls.mock.calls[1]?.[1].body)).toEqual({ route_id: "route_1", signature: "0x1b" });
  expect([outbox.unsubmitted, outbox.signedFor("pay_1")?.authorization]).toEqual([undefined, null]);
});

test("rejected signature is reported and not submitted again", async () => {
  const calls = respond(refusal(409, "sponsoring_unavailable"), json(payment(), 201));
  const { outbox, delivery: running } = delivery();
  outbox.sign(SIGNED);
  events.unauthorized.mockImplementation(({ routeId }) => outbox.dropSigned(routeId));
  await running.run();
  expect(events.unauthorized).toHaveBeenCalledWith(SIGNED, expect.objectContaining({ code: "sponsoring_unavailable" }));
  expect(calls).toHaveBeenCalledTimes(2);
});
