import { expect, test, vi } from "vitest";
import { awaited, findWarning, followed, isReplaceable, isUnderWay, mayLetGo } from "../../src/server/progress";
import type { OwnTransaction } from "../../src/server/outbox";
import type { Payment } from "../../src/server/types";
import { HASH, NOW, own, payment } from "../fixtures";

const OTHER = `0x${"56".repeat(32)}`;
const UNSEEN = { is_seen: false, is_bound: false };
const SIGNERS = { ...UNSEEN, status: "pending", is_awaiting_signers: true };
const known = ({ transaction_hash: hash }: Payment): boolean => hash === HASH;

const kindOf = (different: Partial<Payment>, sent: OwnTransaction[] = []): string | null =>
  findWarning([payment(different)], sent, known)?.kind ?? null;

test.each<[string, Partial<Payment>, OwnTransaction[], boolean]>([
  ["bound", {}, [], true],
  ["seen and not bound", { is_bound: false }, [], false],
  ["seen, not bound, and sent here", { is_bound: false }, [own()], true],
  ["bound and cancelled here", {}, [own({ isCancelled: true })], false],
  ["only submitted", UNSEEN, [], false],
  ["bound and about to fail", { likely_failure: "transaction_reverted" }, [], false],
  ["failed", { status: "failed" }, [], false],
  ["signed and not sent yet", { is_seen: false, sponsored: true, transaction_hash: null }, [], true],
  ["signed and failed", { status: "failed", sponsored: true, transaction_hash: null }, [], false],
])("payment that is %s: whether it is under way", (_, different, sent, expected) => {
  expect(isUnderWay(payment(different), sent)).toBe(expected);
});

test.each<[string, Partial<Payment>, string | null]>([
  ["under way", {}, null],
  ["not looked up yet", { ...UNSEEN, status: "pending" }, "unbound"],
  ["waiting for other signers", { ...SIGNERS }, "signers"],
  ["executed and about to fail", { ...SIGNERS, likely_failure: "transaction_reverted" }, "unpaid"],
  ["not known to any node", UNSEEN, "unseen"],
  ["not found", { ...UNSEEN, status: "failed", failure_code: "transaction_not_found" }, "unseen"],
  ["seen and not bound", { is_bound: false }, "unbound"],
  ["about to fail", { is_bound: false, likely_failure: "transaction_reverted" }, "unpaid"],
  ["bound and about to fail", { likely_failure: "transaction_reverted" }, "unpaid"],
  ["sent to another recipient", { status: "failed", failure_code: "wrong_recipient" }, "unpaid"],
  ["signed and not sent in time", { status: "failed", sponsored: true, failure_code: "authorization_expired" }, "unpaid"],
  ["not tied to the request", { status: "failed", failure_code: "transaction_not_bound" }, "unpaid"],
])("warning about a payment that is %s", (_, different, kind) => {
  expect(kindOf(different)).toBe(kind);
});

test("transaction that its wallet cancelled says so; a replaced one nothing", () => {
  expect(kindOf(UNSEEN, [own({ isCancelled: true })])).toBe("cancelled");
  expect(kindOf(UNSEEN, [own({ hash: OTHER, replaced: [HASH] })])).toBeNull();
});

test("hash that was entered here goes before those of others", () => {
  const payments = [payment({ ...UNSEEN, id: "pay_2", transaction_hash: OTHER }), payment(UNSEEN)];
  expect(findWarning(payments, [], known)?.payment.transaction_hash).toBe(HASH);
  expect(findWarning(payments, [], () => false)?.payment.transaction_hash).toBe(OTHER);
});

test("completed payment ends the warnings about older ones", () => {
  expect(findWarning([payment({ status: "completed" }), payment(UNSEEN)], [], known)).toBeNull();
});

test.each<[string, Payment[], Partial<OwnTransaction>, boolean]>([
  ["the server doesn't list", [], {}, true],
  ["no node has seen", [payment(UNSEEN)], {}, true],
  ["a node has seen", [payment()], {}, false],
  ["other signers have to execute", [payment(SIGNERS)], {}, false],
  ["will fail", [payment({ ...UNSEEN, likely_failure: "transaction_reverted" })], {}, false],
  ["the wallet cancelled", [], { isCancelled: true }, false],
  ["the customer gave up", [], { isLetGo: true }, false],
])("page waits for its own transaction that %s: %s", (_, payments, different, expected) => {
  expect(awaited(payments, [own(different)]) !== null).toBe(expected);
});

test("page waits for its newest transaction", () => {
  expect(awaited([], [own(), own({ hash: OTHER })])?.hash).toBe(OTHER);
});

test("paying again is offered after two minutes", () => {
  vi.useFakeTimers({ now: NOW + 120_000 });
  expect(mayLetGo(own())).toBe(false);
  vi.advanceTimersByTime(1);
  expect(mayLetGo(own())).toBe(true);
});

test.each<[string, Payment[], Partial<OwnTransaction>, boolean]>([
  ["unlisted", [], {}, true],
  ["waiting to be mined", [payment()], {}, true],
  ["not found", [payment({ status: "failed", failure_code: "transaction_not_found" })], {}, true],
  ["replaced", [payment({ status: "failed", failure_code: "transaction_replaced" })], {}, true],
  ["mined", [payment({ confirmations: 1 })], {}, false],
  ["reverted", [payment({ status: "failed", failure_code: "transaction_reverted" })], {}, false],
  ["completed", [payment({ status: "completed" })], {}, false],
  ["cancelled", [], { isCancelled: true }, false],
])("transaction that is %s: whether another may replace it", (_, payments, different, expected) => {
  expect(isReplaceable(own(different), payments)).toBe(expected);
});

test("id of a proposal is followed to the hash of its execution", () => {
  expect(followed(own(), [payment(SIGNERS)])).toBeNull();
  expect(followed(own(), [payment({ transaction_hash: OTHER, replaced_hashes: [HASH] })])).toBe(OTHER);
  expect(followed(own({ hash: OTHER }), [payment({ transaction_hash: OTHER, replaced_hashes: [HASH] })])).toBeNull();
});

test("wallet is not asked about the replacement of a proposal", () => {
  expect(isReplaceable(own(), [payment(SIGNERS)])).toBe(false);
});
