// Checks of the types. The compiler checks this file, but nothing runs it.
import { Client, webhooks, type Event, type PaymentRequest } from "../src/index.js";

export async function types(client: Client): Promise<void> {
  const order = { token_id: 2, chain_id: 8453, recipient_address: "0x" };
  const made: PaymentRequest = await client.paymentRequests.create({ ...order, amount: "12.50", external_id: null });
  // @ts-expect-error an amount is a string
  await client.paymentRequests.create({ ...order, amount: 12.5 });
  // @ts-expect-error a recipient is needed
  await client.paymentRequests.create({ amount: "1", token_id: 2, chain_id: 8453 });
  // @ts-expect-error there is no such field
  await client.paymentRequests.create({ ...order, amount: "1", amonut: "1" });
  // @ts-expect-error amounts in responses are also strings
  made.amount_paid.raw satisfies number;
  for await (const each of client.paymentRequests.list({ status: "active" })) each.status satisfies string;
  (await client.deliveries.list({ status: "failed" })).data[0]?.next_attempt_at satisfies string | null | undefined;
  await client.sandbox.simulate(made.id, "paid_late");
  await client.sandbox.simulate(made.id, "failed", { payment_id: "pay_1", idempotencyKey: "key" });
  // @ts-expect-error there is no such option
  await client.sandbox.simulate(made.id, "failed", { payment: "pay_1" });
  const event: Event = webhooks.verify(new Uint8Array(), "t=1,v1=0", ["whsec_1", "whsec_2"], { tolerance: 60 });
  event.data.object.amount satisfies string;
  // @ts-expect-error the raw bytes, not a text
  webhooks.verify("{}", "t=1,v1=0", "whsec_1");
}
