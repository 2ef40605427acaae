import { expect, test, vi } from "vitest";
import { Outbox } from "../../src/server/outbox";
import { HASH, HERE, PAYER } from "../fixtures";

const BY = { wallet: "Stub Wallet", account: PAYER, prompt: 1, seconds: 40 };
const OTHER = `0x${"56".repeat(32)}`;
const sent = (transaction_hash = HASH) => ({ transaction_hash, chain_id: HERE });

test("hash outlives the page until the server has it", () => {
  new Outbox("req_1").remember(sent(), BY);
  const reopened = new Outbox("req_1");
  expect(reopened.next).toEqual(sent());
  reopened.acknowledge(HASH);
  expect(new Outbox("req_1").next).toBeUndefined();
  expect(new Outbox("req_1").knows(HASH)).toBe(true);
});

test("each request has a record of its own", () => {
  new Outbox("req_1").remember(sent(), BY);
  expect(new Outbox("req_2").hasSent).toBe(false);
});

test("transaction of a wallet goes before entered hashes", () => {
  const outbox = new Outbox("req_1");
  outbox.remember(sent(OTHER));
  outbox.remember(sent(), BY);
  expect(outbox.next?.transaction_hash).toBe(HASH);
  expect([outbox.isOwn(HASH), outbox.isOwn(OTHER)]).toEqual([true, false]);
});

test("same hash in other letters is stored once", () => {
  const outbox = new Outbox("req_1");
  outbox.remember(sent(`0x${"AB".repeat(32)}`));
  outbox.remember(sent(`0x${"ab".repeat(32)}`));
  expect(outbox.unsent).toHaveLength(1);
});

test("base58 hash keeps its letters", () => {
  const outbox = new Outbox("req_1");
  outbox.remember(sent("5Kd3NBUAdUnhyzenEwVLy9pBKxSwXvE9FMPyR4UKZvpe6E3AgLr"));
  expect(outbox.next?.transaction_hash).toContain("5Kd3NBUA");
});

test("hash that the server lists or rejects is not submitted", () => {
  const outbox = new Outbox("req_1");
  outbox.remember(sent(), BY);
  outbox.settle(HASH);
  expect([outbox.next, outbox.hasSent]).toEqual([undefined, true]);
  outbox.remember(sent(OTHER), BY);
  outbox.drop(OTHER);
  expect([outbox.next, outbox.isOwn(OTHER)]).toEqual([undefined, false]);
});

test("prompt counts as open for 15 minutes", () => {
  vi.useFakeTimers();
  new Outbox("req_1").promptOpened();
  const reopened = new Outbox("req_1");
  expect(reopened.promptWasLeftOpen).toBe(true);
  vi.advanceTimersByTime(15 * 60_000);
  expect(reopened.promptWasLeftOpen).toBe(false);
});

test("answered or sent prompt is not open", () => {
  const outbox = new Outbox("req_1");
  outbox.promptAnswered(outbox.promptOpened());
  expect(outbox.promptWasLeftOpen).toBe(false);
  outbox.remember(sent(), { ...BY, prompt: outbox.promptOpened() });
  expect(outbox.promptWasLeftOpen).toBe(false);
});

test("answer to one prompt leaves the other one open", () => {
  const [one, two] = [new Outbox("req_1"), new Outbox("req_1")];
  const [left] = [one.promptOpened(), two.promptOpened()];
  two.remember(sent(), { ...BY, prompt: left });
  expect(two.promptWasLeftOpen).toBe(true);
  two.remember(sent(OTHER));
  one.reread();
  expect(one.promptWasLeftOpen).toBe(false);
});

test("replacement is tracked in place of the replaced transaction", () => {
  const outbox = new Outbox("req_1");
  outbox.remember(sent(), BY);
  outbox.learn(HASH, { nonce: 7, call: null, fromBlock: 3 });
  outbox.replace(HASH, OTHER.toUpperCase().replace("X", "x"));
  expect(outbox.own[0]).toMatchObject({ hash: OTHER, replaced: [HASH], nonce: 7, fromBlock: 3 });
  outbox.cancel(OTHER);
  outbox.letGo(OTHER);
  expect(new Outbox("req_1").own[0]).toMatchObject({ isCancelled: true, isLetGo: true });
});

test("two tabs keep each other's hashes", () => {
  const [one, two] = [new Outbox("req_1"), new Outbox("req_1")];
  const heard = vi.fn();
  two.onOtherTab(heard);
  one.remember(sent(), BY);
  two.remember(sent(OTHER), BY);
  expect(new Outbox("req_1").unsent).toHaveLength(2);
  window.dispatchEvent(new StorageEvent("storage", { key: "quittance:req_1" }));
  window.dispatchEvent(new StorageEvent("storage", { key: "quittance:req_2" }));
  expect(heard).toHaveBeenCalledTimes(1);
});

test("damaged record is replaced by an empty one", () => {
  localStorage.setItem("quittance:req_1", "{");
  expect(new Outbox("req_1").hasSent).toBe(false);
});

test("record stays in memory if storage is blocked", () => {
  vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
    throw new DOMException("", "QuotaExceededError");
  });
  const outbox = new Outbox("req_1");
  outbox.remember(sent(), BY);
  expect(outbox.next).toEqual(sent());
});

test("hash outlives later changes while storage is full", () => {
  const outbox = new Outbox("req_1");
  outbox.paysFee = true; // There is a stored record.
  const full = vi.spyOn(localStorage, "setItem").mockImplementation(() => {
    throw new DOMException("", "QuotaExceededError");
  });
  outbox.remember(sent(), BY);
  outbox.learn(HASH, { nonce: 7, call: null, fromBlock: null });
  outbox.reread();
  expect([outbox.next, outbox.own[0]?.nonce]).toEqual([sent(), 7]);

  full.mockRestore();
  outbox.acknowledge(HASH);
  expect(new Outbox("req_1").knows(HASH)).toBe(true);
});

test("hash is the customer's own only if it was entered or sent here", () => {
  const outbox = new Outbox("req_mine");
  // Anyone can submit any hash. That doesn't make the payment this customer's.
  outbox.remember({ transaction_hash: HASH, chain_id: HERE });
  outbox.acknowledge(HASH);
  expect([outbox.knows(HASH), outbox.isMine(HASH)]).toEqual([true, false]);
  outbox.enter({ transaction_hash: HASH.toUpperCase().replace("0X", "0x"), chain_id: HERE });
  expect(new Outbox("req_mine").isMine(HASH)).toBe(true);
  const sent = `0x${"56".repeat(32)}`;
  outbox.remember({ transaction_hash: sent, chain_id: HERE }, BY);
  expect(outbox.isMine(sent)).toBe(true);
});
