import assert from "node:assert/strict";
import test from "node:test";

import { delay, isTemporary, parseRetryAfter } from "../dist/esm/retries.js";

test("pauses double up to 8 seconds, and half of each is chance", () => {
  const [least, most] = [() => 0, () => 0.999999];
  assert.deepEqual([1, 2, 3, 4, 5, 6, 99].map((n) => delay(n, null, least)), [0.25, 0.5, 1, 2, 4, 4, 4]);
  for (const n of [1, 2, 5, 99]) {
    assert.ok(delay(n, null, most) > delay(n, null, least) * 1.99);
    assert.ok(delay(n, null, most) <= 8);
  }
  const pauses = new Set(Array.from({ length: 50 }, () => delay(3, null)));
  assert.ok(pauses.size > 40);
});

test("a pause is never shorter than what the service asked for", () => {
  assert.equal(delay(1, 17), 17);
  assert.ok(delay(5, 1) >= 4);
});

test("Retry-After is read as seconds and as a date, and nonsense is nothing", () => {
  const now = Date.parse("2026-01-31T12:00:00Z");
  assert.equal(parseRetryAfter("7", now), 7);
  assert.equal(parseRetryAfter(" 0 ", now), 0);
  assert.equal(parseRetryAfter("Sat, 31 Jan 2026 12:00:30 GMT", now), 30);
  assert.equal(parseRetryAfter("Sat, 31 Jan 2026 11:00:00 GMT", now), 0);
  for (const odd of [null, "", "-5", "soon", "1e9", "99999999999"]) assert.equal(parseRetryAfter(odd, now), null);
});

test("only what may pass is tried again", () => {
  for (const status of [429, 500, 502, 503, 504]) assert.ok(isTemporary(status, null));
  assert.ok(isTemporary(409, "idempotency_key_in_use"));
  for (const status of [400, 401, 403, 404, 405, 413, 415]) assert.ok(!isTemporary(status, null));
  assert.ok(!isTemporary(409, "payment_in_progress"));
});
