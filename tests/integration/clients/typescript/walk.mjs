// Use every method of the client with the running service. Prints "walked" at the end.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { Client, IdempotencyError, InvalidRequestError, webhooks } from "quittance";

const { QUITTANCE_BASE_URL, QUITTANCE_API_KEY, TOKEN_ID, CHAIN_ID, WALLET } = process.env;
const quittance = new Client(QUITTANCE_API_KEY, { baseUrl: QUITTANCE_BASE_URL });
const order = (more = {}) => ({
  amount: "12.50", token_id: Number(TOKEN_ID), chain_id: Number(CHAIN_ID), recipient_address: WALLET, ...more,
});
const refused = (call, status, code) =>
  assert.rejects(call, (error) => error instanceof InvalidRequestError && error.status === status && error.code === code);

// The catalogue
const chain = (await quittance.chains.list()).find((each) => each.id === Number(CHAIN_ID));
assert.equal(chain.chain_type, "evm");
assert.equal((await quittance.chains.tokens(chain.id)).find((each) => each.id === Number(TOKEN_ID)).symbol, "USDC");

// An endpoint that collects the events with a valid signature
const told = [];
const receiver = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  told.push(webhooks.verify(Buffer.concat(chunks), request.headers["service-signature"], secret));
  receiver.emit("told");
  response.writeHead(200).end();
}).listen(0, "127.0.0.1");
await once(receiver, "listening");
assert.equal((await quittance.webhooks.retrieve()).url, null);
const url = `http://127.0.0.1:${receiver.address().port}/hook`;
const enabled_events = ["payment.succeeded", "payment.failed", "payment.expired", "payment.partially_paid"];
let { secret } = await quittance.webhooks.update({ url, enabled_events });
const sample = await quittance.webhooks.test({ type: "payment.failed" });
assert.deepEqual([sample.delivered, sample.status_code], [true, 200]);
assert.deepEqual([told[0].id, told[0].data.object.test], [sample.event_id, true]);

// Requests
const idempotencyKey = `order-1-${Date.now()}`;
const made = await quittance.paymentRequests.create(order({ external_id: "order-1", metadata: { table: "4" } }), { idempotencyKey });
assert.deepEqual(await quittance.paymentRequests.create(order({ external_id: "order-1", metadata: { table: "4" } }), { idempotencyKey }), made);
await assert.rejects(quittance.paymentRequests.create(order(), { idempotencyKey }), IdempotencyError);
assert.deepEqual([made.amount.formatted, made.metadata], ["12.500000", { table: "4" }]);
assert.deepEqual((await quittance.paymentRequests.retrieve(made.id)).payments, []);
await refused(quittance.paymentRequests.create(order({ amount: "1.0000001" })), 400, "amount_too_precise");
await refused(quittance.paymentRequests.retrieve("01a1fd92-caa6-7393-afe5-964ec9235339"), 404, "resource_missing");
const cancelled = await quittance.paymentRequests.cancel((await quittance.paymentRequests.create(order())).id);
assert.equal(cancelled.status, "cancelled");
const active = [];
for await (const each of quittance.paymentRequests.list({ limit: 1, status: "active" })) active.push(each.id);
assert.deepEqual(active, [made.id]);
const all = await quittance.paymentRequests.list({ limit: 1, created_after: made.created_at });
assert.deepEqual([all.data[0].id, all.has_more], [cancelled.id, false]);

// A transaction that the customer sent
const another = await quittance.paymentRequests.create(order());
const sent = { transaction_hash: `0x${"ab".repeat(32)}`, chain_id: another.chain_id };
const added = await quittance.paymentRequests.submitPayment(another.id, sent);
assert.deepEqual([added.status, added.replaced_hashes], ["pending", []]);
assert.equal((await quittance.paymentRequests.submitPayment(another.id, sent)).id, added.id);

// Every final status of a payment, as the endpoint receives it
assert.equal(await quittance.sandbox.isAvailable(), true);
const failed = (await quittance.sandbox.simulate(made.id, "failed")).payments[0];
await refused(quittance.paymentRequests.retryPayment(made.id, failed.id), 409, "payment_not_retryable");
await refused(quittance.paymentRequests.acceptPayment(made.id, failed.id, { reason: "It is his." }), 409, "payment_not_retryable");
const processing = (await quittance.sandbox.simulate(made.id, "processing")).payments[0];
assert.equal(processing.status, "processing");
const part = await quittance.sandbox.simulate(made.id, "underpaid", { payment_id: processing.id });
assert.equal(part.payments.find((each) => each.id === processing.id).status, "completed");
const paid = await quittance.sandbox.simulate(made.id, "paid_late");
assert.deepEqual([paid.status, paid.paid_late, paid.amount_remaining.raw], ["completed", true, "0"]);
await refused(quittance.sandbox.simulate(made.id, "paid"), 409, "payment_request_not_active");
const statuses = [];
for await (const each of quittance.paymentRequests.payments(made.id, { limit: 1 })) statuses.push(each.status);
assert.deepEqual(statuses, ["completed", "completed", "failed"]);

// The received events, compared with the delivered and the listed ones
const types = ["payment.failed", "payment.partially_paid", "payment.expired", "payment.succeeded"];
while (told.length < 5) await once(receiver, "told");
assert.deepEqual(told.slice(1).map((event) => event.type).sort(), [...types].sort());
const events = [];
for await (const event of quittance.events.list({ limit: 2 })) events.push(event);
assert.deepEqual(events.map((event) => event.type).reverse(), types);
const [succeeded] = events;
assert.deepEqual([succeeded.data.object.amount, succeeded.data.object.reference], ["6250000", "order-1"]);
assert.deepEqual(await quittance.events.retrieve(succeeded.id), succeeded);
assert.deepEqual(told.find((event) => event.id === succeeded.id), succeeded);
const later = [];
for await (const event of quittance.events.list({ limit: 1, ending_before: events[3].id })) later.push(event.type);
assert.deepEqual(later, types.slice(1));

// Deliveries
const [delivery] = (await quittance.deliveries.list({ event_id: succeeded.id })).data;
const again = once(receiver, "told");
assert.equal((await quittance.deliveries.redeliver(delivery.id)).status, "pending");
assert.equal(await quittance.deliveries.redeliverFailed({ since: new Date(), type: "payment.succeeded" }), 0);
await again;
assert.equal(told.at(-1).id, succeeded.id);
assert.equal((await quittance.deliveries.retrieve(delivery.id)).attempts[0].status_code, 200);

// Rotate the secret, then remove the endpoint
const rotated = await quittance.webhooks.update({ url, rotate_secret: true });
assert.notEqual(rotated.secret, secret);
assert.ok(rotated.previous_secret_expires_at);
assert.equal((await quittance.webhooks.update({ url: null })).url, null);

receiver.closeAllConnections();
receiver.close();
console.log("walked");
