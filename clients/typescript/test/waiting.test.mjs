// Tests that wait for pauses and timeouts. They run at the same time.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as quittance from "quittance";
import { KEY, refusal, service } from "./service.mjs";

const ORDER = { amount: "12.50", token_id: 2, chain_id: 8453, recipient_address: "0xabc" };
const REQUEST = { id: "01a1fd92-caa6-7393-afe5-964ec9235339", object: "payment_request", status: "active" };
const client = (baseUrl, options) => new quittance.Client(KEY, { baseUrl, ...options });

describe("a call that meets trouble", { concurrency: true }, () => {
  it("temporary failures are tried again with the same idempotency key", async (t) => {
    const { baseUrl, calls } = await service(
      t,
      refusal(503, "upstream_error", "service_unavailable", {}, { "Retry-After": "0" }),
      refusal(409, "idempotency_error", "idempotency_key_in_use"),
      (response) => response.destroy(),
      [201, REQUEST],
    );
    assert.equal((await client(baseUrl).paymentRequests.create(ORDER)).id, REQUEST.id);
    assert.equal(calls.length, 4);
    assert.equal(new Set(calls.map((call) => call.headers["idempotency-key"])).size, 1);
    assert.equal(new Set(calls.map((call) => call.body)).size, 1);
  });

  it("Retry-After is waited for", async (t) => {
    const { baseUrl, calls } = await service(t, refusal(429, "rate_limit_error", "rate_limited", {}, { "Retry-After": "1" }), [200, REQUEST]);
    const began = performance.now();
    await client(baseUrl).paymentRequests.retrieve(REQUEST.id);
    assert.ok(performance.now() - began >= 990);
    assert.equal(calls.length, 2);
  });

  it("after the last retry the error is thrown", async (t) => {
    const { baseUrl, calls } = await service(t, refusal(500, "api_error", "internal_error"));
    await assert.rejects(client(baseUrl, { maxRetries: 1 }).paymentRequests.retrieve(REQUEST.id), quittance.APIError);
    assert.equal(calls.length, 2);
    await assert.rejects(client(baseUrl).paymentRequests.retrieve(REQUEST.id, { maxRetries: 0 }), quittance.APIError);
    assert.equal(calls.length, 3);
  });

  it("no answer in time is an APIConnectionError, and the call is made again", async (t) => {
    const { baseUrl, calls } = await service(t, () => {});
    const slow = client(baseUrl, { timeoutMs: 700, maxRetries: 1 });
    await assert.rejects(slow.paymentRequests.create(ORDER), (error) => {
      assert.ok(error instanceof quittance.APIConnectionError);
      assert.match(error.message, /timed out after 0.7 s/);
      assert.equal(error.neverSent, false);
      return true;
    });
    assert.equal(calls.length, 2);
  });

  it("a rotation of the secret is not repeated when its answer is lost", async (t) => {
    const { baseUrl, calls } = await service(t, (response) => response.destroy());
    const one = client(baseUrl, { maxRetries: 1 });
    await assert.rejects(one.webhooks.update({ url: "https://shop.example/", rotate_secret: true }), quittance.APIConnectionError);
    assert.equal(calls.length, 1);
    await assert.rejects(one.webhooks.update({ url: "https://shop.example/" }), quittance.APIConnectionError);
    assert.equal(calls.length, 3);
    assert.ok(calls.every((call) => call.method === "PUT" && !("idempotency-key" in call.headers)));
  });

  it("the caller can end a call, its pauses included", async (t) => {
    const ending = new AbortController();
    const { baseUrl, calls } = await service(t, (response) => {
      const [status, body, headers] = refusal(503, "upstream_error", "service_unavailable", {}, { "Retry-After": "30" });
      response.writeHead(status, headers).end(JSON.stringify(body), () => {
        setTimeout(() => ending.abort(new Error("the shop closes")), 100);
      });
    });
    const call = client(baseUrl).paymentRequests.retrieve(REQUEST.id, { signal: ending.signal });
    await assert.rejects(call, /the shop closes/);
    assert.equal(calls.length, 1);
    await assert.rejects(client(baseUrl).paymentRequests.retrieve(REQUEST.id, { signal: ending.signal }), /the shop closes/);
    assert.equal(calls.length, 1);
  });
});
