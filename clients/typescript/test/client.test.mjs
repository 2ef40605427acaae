import assert from "node:assert/strict";
import { createServer } from "node:net";
import test from "node:test";
import { inspect } from "node:util";

import * as quittance from "quittance";
import { KEY, refusal, service } from "./service.mjs";

const { Client } = quittance;
const ORDER = { amount: "12.50", token_id: 2, chain_id: 8453, recipient_address: "0xabc" };
const REQUEST = { id: "01a1fd92-caa6-7393-afe5-964ec9235339", object: "payment_request", status: "active" };
const client = (baseUrl, options) => new Client(KEY, { baseUrl, ...options });

test("a call carries the key, its body and an idempotency key", async (t) => {
  const { baseUrl, calls } = await service(t, [201, REQUEST]);
  const answer = await client(`${baseUrl}/`).paymentRequests.create({ ...ORDER, external_id: "order-1" });
  assert.deepEqual(answer, REQUEST);
  const [{ method, url, headers, body }] = calls;
  assert.deepEqual([method, url, JSON.parse(body)], ["POST", "/api/payment-requests", { ...ORDER, external_id: "order-1" }]);
  assert.equal(headers["x-api-key"], KEY);
  assert.equal(headers["content-type"], "application/json");
  assert.match(headers["user-agent"], /^quittance-typescript\/[0-9]+\.[0-9]+\.[0-9]+$/);
  assert.match(headers["idempotency-key"], /^[0-9a-f-]{36}$/);
});

test("an amount that is no string is refused before anything is sent", async (t) => {
  const { baseUrl, calls } = await service(t, [201, REQUEST]);
  for (const amount of [12.5, 12, 12n, null, undefined, { raw: "1" }]) {
    await assert.rejects(client(baseUrl).paymentRequests.create({ ...ORDER, amount }), /amount should be a string such as "12.50"/);
  }
  assert.equal(calls.length, 0);
});

test("the catalogue is read without the key", async (t) => {
  const { baseUrl, calls } = await service(t, [200, []]);
  await client(baseUrl).chains.list();
  await client(baseUrl).chains.tokens(1151111081099710);
  await client(baseUrl).currencies.list();
  const paths = ["/api/public/chains", "/api/public/chains/1151111081099710/tokens", "/api/public/currencies"];
  assert.deepEqual(calls.map((call) => call.url), paths);
  assert.ok(calls.every((call) => !("x-api-key" in call.headers) && !("idempotency-key" in call.headers)));
});

test("the caller's own idempotency key is used, and a malformed one refused", async (t) => {
  const { baseUrl, calls } = await service(t, [200, REQUEST]);
  await client(baseUrl).paymentRequests.cancel(REQUEST.id, { idempotencyKey: "cancel-order-1" });
  assert.equal(calls[0].headers["idempotency-key"], "cancel-order-1");
  for (const idempotencyKey of ["", "with blank", "é", "x".repeat(256)]) {
    await assert.rejects(client(baseUrl).paymentRequests.cancel(REQUEST.id, { idempotencyKey }), TypeError);
  }
  assert.equal(calls.length, 1);
});

test("a longer Retry-After than a minute is the caller's to wait for", async (t) => {
  const { baseUrl, calls } = await service(t, refusal(429, "rate_limit_error", "rate_limited", {}, { "Retry-After": "61" }));
  await assert.rejects(async () => await client(baseUrl).events.list(), (error) => {
    assert.ok(error instanceof quittance.RateLimitError);
    assert.deepEqual([error.status, error.retryAfter, error.code], [429, 61, "rate_limited"]);
    return true;
  });
  assert.equal(calls.length, 1);
});

test("refusals are typed, hold what the API said, and are not tried again", async (t) => {
  const kinds = [
    [400, "invalid_request_error", "amount_too_precise", quittance.InvalidRequestError],
    [401, "authentication_error", "api_key_revoked", quittance.AuthenticationError],
    [403, "permission_error", "permission_denied", quittance.PermissionDeniedError],
    [400, "idempotency_error", "idempotency_key_reused", quittance.IdempotencyError],
    [409, "invalid_request_error", "payment_in_progress", quittance.InvalidRequestError],
    [400, "error_of_the_future", "unheard_of", quittance.APIError],
  ];
  for (const [status, type, code, kind] of kinds) {
    const details = ["amount", "expires_in"].map((param) => ({ param, code, message: "No." }));
    const { baseUrl, calls } = await service(t, refusal(status, type, code, { param: "amount", details }));
    await assert.rejects(client(baseUrl).paymentRequests.create(ORDER), (error) => {
      assert.ok(error instanceof kind && error instanceof quittance.QuittanceError && error instanceof Error);
      assert.equal(error.name, kind.name);
      assert.deepEqual(
        [error.status, error.type, error.code, error.param, error.requestId, error.details],
        [status, type, code, "amount", "req_1", details],
      );
      assert.equal(error.message, `${code}: amount: It is ${code}. Also at fault: expires_in. (request req_1)`);
      return true;
    });
    assert.equal(calls.length, 1);
  }
});

test("an answer that is not the service's says so, and a redirect is not followed", async (t) => {
  const other = await service(t, [200, REQUEST]);
  const answers = [
    [[200, "<html>"], /without Quittance.s JSON. Check baseUrl/],
    [[404, "<html>"], /returned 404 without/],
    [[301, "", { Location: other.baseUrl }], /Redirects are not followed/],
    [[307, "", { Location: other.baseUrl }], /Redirects are not followed/],
  ];
  for (const [answer, words] of answers) {
    const { baseUrl } = await service(t, answer);
    await assert.rejects(client(baseUrl, { maxRetries: 0 }).paymentRequests.create(ORDER), (error) => {
      assert.ok(error instanceof quittance.APIError && words.test(error.message), error.message);
      return true;
    });
  }
  assert.equal(other.calls.length, 0);
});

test("a body that never ends is cut off at the time-out", async (t) => {
  const { baseUrl } = await service(t, (response) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    response.write('{"id": ');
  });
  const call = client(baseUrl, { timeoutMs: 60, maxRetries: 0 }).paymentRequests.retrieve(REQUEST.id);
  await assert.rejects(call, /timed out after 0.06 s/);
});

test("a failed connection is distinguished from a broken one", async () => {
  const closed = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => closed.once("listening", resolve));
  const { port } = closed.address();
  await new Promise((resolve) => closed.close(resolve));
  const call = client(`http://127.0.0.1:${port}`, { maxRetries: 0 }).events.retrieve("evt_1");
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof quittance.APIConnectionError);
    assert.deepEqual([error.neverSent, error.status], [true, null]);
    return true;
  });
});

/** A fake service that lists ten objects in the API's format. */
const listing = (calls) => async (url) => {
  const query = new URL(url).searchParams;
  calls.push(Object.fromEntries(query));
  const all = Array.from({ length: 10 }, (_, n) => ({ id: `id-${9 - n}` }));
  const limit = Number(query.get("limit") ?? 20);
  const after = all.findIndex((each) => each.id === query.get("starting_after"));
  const before = all.findIndex((each) => each.id === query.get("ending_before"));
  const rest = query.has("ending_before") ? all.slice(0, before) : all.slice(after + 1);
  const data = query.has("ending_before") ? rest.slice(-limit) : rest.slice(0, limit);
  return Response.json({ object: "list", url: "/api/payment-requests", has_more: rest.length > limit, data });
};

test("a list is awaited for its first page", async () => {
  const calls = [];
  const list = client("https://pay.example.com", { fetch: listing(calls) }).paymentRequests.list({
    limit: 4, status: "active", created_after: new Date("2026-01-31T12:00:00Z"), external_id: undefined,
  });
  const page = await list;
  assert.deepEqual(page.data.map((each) => each.id), ["id-9", "id-8", "id-7", "id-6"]);
  assert.deepEqual([page.object, page.has_more, page.url], ["list", true, "/api/payment-requests"]);
  assert.deepEqual(calls, [{ limit: "4", status: "active", created_after: "2026-01-31T12:00:00.000Z" }]);
  const next = await page.nextPage();
  assert.deepEqual(next.data.map((each) => each.id), ["id-5", "id-4", "id-3", "id-2"]);
  assert.deepEqual(calls[1], { ...calls[0], starting_after: "id-6" });
  assert.equal(await (await next.nextPage()).nextPage(), null);
});

test("a list is gone through to its end, pages fetched as they are needed", async () => {
  const calls = [];
  const one = client("https://pay.example.com", { fetch: listing(calls) });
  const seen = [];
  for await (const each of one.paymentRequests.list({ limit: 3 })) {
    seen.push(each.id);
    assert.equal(calls.length, Math.ceil(seen.length / 3));
  }
  assert.deepEqual(seen, ["9", "8", "7", "6", "5", "4", "3", "2", "1", "0"].map((n) => `id-${n}`));
  for await (const each of one.paymentRequests.list({ limit: 3 })) if (each.id === "id-9") break;
  assert.equal(calls.length, 5);
});

test("after ending_before it comes oldest first, and nothing is missed", async () => {
  const seen = [];
  const one = client("https://pay.example.com", { fetch: listing([]) });
  for await (const each of one.paymentRequests.list({ limit: 2, ending_before: "id-4" })) seen.push(each.id);
  assert.deepEqual(seen, ["id-5", "id-6", "id-7", "id-8", "id-9"]);
});

test("a list that was not asked of the service fails when it is awaited, and not before", async (t) => {
  const { baseUrl, calls } = await service(t, refusal(404, "invalid_request_error", "resource_missing"));
  const list = client(baseUrl).paymentRequests.payments(REQUEST.id);
  assert.equal(calls.length, 0);
  await assert.rejects(async () => await list, quittance.InvalidRequestError);
  await assert.rejects(async () => {
    for await (const each of client(baseUrl).events.list()) assert.fail(each);
  }, quittance.InvalidRequestError);
});

test("an id can't lead elsewhere", async (t) => {
  const { baseUrl, calls } = await service(t, [200, REQUEST]);
  for (const id of ["", ".", "..", "a/b", "a?b", "a#b", "a%2Fb", "é", null, undefined, 5]) {
    await assert.rejects(client(baseUrl).paymentRequests.retrieve(id), TypeError);
  }
  assert.equal(calls.length, 0);
});

test("a malformed key or address is refused at once", () => {
  const baseUrl = "https://pay.example.com";
  for (const key of ["", "quitt_", KEY.toUpperCase(), `${KEY}0`, ` ${KEY}`, null]) {
    assert.throws(() => new Client(key, { baseUrl }), TypeError);
  }
  for (const address of ["", "pay.example.com", "ftp://pay.example.com", "https://u:p@pay.example.com", `${baseUrl}?a=1`, `${baseUrl}#a`]) {
    assert.throws(() => new Client(KEY, { baseUrl: address }), TypeError);
  }
  assert.equal(new Client(KEY, { baseUrl: `${baseUrl}/base/` }).baseUrl, `${baseUrl}/base`);
});

test("the key shows in no output and in no error", async (t) => {
  const { baseUrl } = await service(t, (response) => response.destroy());
  const one = client(baseUrl, { maxRetries: 0 });
  const error = await one.events.retrieve("evt_1").then(assert.fail, (problem) => problem);
  for (const shown of [inspect(one, { depth: 9, showHidden: true }), JSON.stringify(one), inspect(error, { depth: 9, showHidden: true })]) {
    assert.ok(!shown.includes(KEY.slice(6)), shown);
  }
});

test("whether there is a sandbox can be asked", async (t) => {
  const there = await service(t, refusal(405, "invalid_request_error", "method_not_allowed"));
  const absent = await service(t, refusal(404, "invalid_request_error", "resource_missing"));
  const barred = await service(t, refusal(401, "authentication_error", "api_key_invalid"));
  assert.equal(await client(there.baseUrl).sandbox.isAvailable(), true);
  assert.equal(await client(absent.baseUrl).sandbox.isAvailable(), false);
  await assert.rejects(client(barred.baseUrl).sandbox.isAvailable(), quittance.AuthenticationError);
});
