import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import test from "node:test";

import { SignatureVerificationError, webhooks } from "quittance";

const SECRET = `whsec_${"a1".repeat(16)}`;
const OTHER = `whsec_${"b2".repeat(16)}`;
const NOW = 1_795_255_624;
const OBJECT = {
  id: "pay_1", amount: 12500000, currency: "USDC", status: "succeeded", reference: "Bestellung-ü",
  amount_details: { raw: "12500000", formatted: "12.500000", decimals: 6 },
};
const event = (object = OBJECT) =>
  Buffer.from(JSON.stringify({ id: "evt_1", type: "payment.succeeded", created: NOW, data: { object } }));
const BODY = event();

/** A webhook's signature, computed here without the package's own code. */
const signature = (body = BODY, secret = SECRET, at = NOW) => {
  const message = Buffer.concat([Buffer.from(`${at}.`), body]);
  return `t=${at},v1=${createHmac("sha256", secret).update(message).digest("hex")}`;
};
const refused = (call, words) =>
  assert.throws(call, (error) => error instanceof SignatureVerificationError && words.test(error.message));

test("a signed body is its event", () => {
  const event = webhooks.verify(BODY, signature(), SECRET, { now: NOW });
  assert.equal(event.type, "payment.succeeded");
  assert.equal(event.data.object.reference, "Bestellung-ü");
});

test("bytes are taken as a Buffer, a Uint8Array, a part of a larger buffer or an ArrayBuffer", () => {
  const larger = Buffer.concat([Buffer.from("xx"), BODY, Buffer.from("yy")]);
  const part = new Uint8Array(larger.buffer, larger.byteOffset + 2, BODY.length);
  const alone = new Uint8Array(BODY);
  for (const body of [BODY, alone, part, alone.buffer]) {
    assert.equal(webhooks.verify(body, signature(), SECRET, { now: NOW }).id, "evt_1");
  }
});

test("any of several secrets and any of several signatures will do", () => {
  const both = `${signature(BODY, OTHER)},${signature().split(",")[1]}`;
  for (const secret of [SECRET, OTHER, [OTHER, SECRET], [SECRET, "whsec_unknown"]]) {
    assert.equal(webhooks.verify(BODY, both, secret, { now: NOW }).id, "evt_1");
  }
  refused(() => webhooks.verify(BODY, both, "whsec_unknown", { now: NOW }), /No signature matches/);
});

test("a signature counts for 300 seconds in both directions, or as long as is said", () => {
  for (const now of [NOW - 300, NOW, NOW + 300]) webhooks.verify(BODY, signature(), SECRET, { now });
  for (const now of [NOW - 301, NOW + 301]) {
    refused(() => webhooks.verify(BODY, signature(), SECRET, { now }), /301 s from now, and 300 s are allowed/);
  }
  webhooks.verify(BODY, signature(), SECRET, { now: NOW + 900, tolerance: 900 });
  refused(() => webhooks.verify(BODY, signature(), SECRET, { now: NOW + 1, tolerance: 0 }), /0 s are allowed/);
  refused(() => webhooks.verify(BODY, signature(), SECRET), /from now/);
  const now = Math.floor(Date.now() / 1000);
  assert.equal(webhooks.verify(BODY, signature(BODY, SECRET, now), SECRET).id, "evt_1");
});

test("one changed byte of body, time or signature is refused", () => {
  const changed = Buffer.from(BODY);
  changed[10] ^= 1;
  refused(() => webhooks.verify(changed, signature(), SECRET, { now: NOW }), /No signature matches/);
  refused(
    () => webhooks.verify(BODY, signature().replace(`t=${NOW}`, `t=${NOW + 1}`), SECRET, { now: NOW }),
    /No signature matches/,
  );
  const header = signature();
  const wrong = header.slice(0, -1) + (header.endsWith("0") ? "1" : "0");
  refused(() => webhooks.verify(BODY, wrong, SECRET, { now: NOW }), /No signature matches/);
});

test("a header that says nothing usable is refused with what it should be", () => {
  for (const header of [null, undefined, ""]) {
    refused(() => webhooks.verify(BODY, header, SECRET, { now: NOW }), /no Service-Signature header/);
  }
  const v1 = signature().split(",")[1];
  for (const header of [v1, `t=,${v1}`, `t=x,${v1}`, `t=-5,${v1}`, `t=1e9,${v1}`, `t=${NOW},t=${NOW},${v1}`, "="]) {
    refused(() => webhooks.verify(BODY, header, SECRET, { now: NOW }), /no timestamp; it should be t=/);
  }
  for (const rest of ["", ",v1=", ",v0=" + v1.slice(3), ",v1=" + v1.slice(3).toUpperCase(), ",v1=" + v1.slice(4)]) {
    refused(() => webhooks.verify(BODY, `t=${NOW}${rest}`, SECRET, { now: NOW }), /no v1 signature; it should be t=/);
  }
});

test("blanks and unknown parts around a good signature do no harm", () => {
  const header = ` v0=old, ${signature().replace(",", " , ")}, v2=new `;
  assert.equal(webhooks.verify(BODY, header, SECRET, { now: NOW }).id, "evt_1");
});

test("a wrong call is a TypeError, and no delivery is refused for it", () => {
  for (const body of [BODY.toString(), JSON.parse(BODY.toString()), null, undefined]) {
    assert.throws(() => webhooks.verify(body, signature(), SECRET), TypeError);
  }
  for (const secret of ["", [], [""], null, undefined, [SECRET, ""]]) {
    assert.throws(() => webhooks.verify(BODY, signature(), secret), /TypeError|secret should be/);
  }
  assert.throws(() => webhooks.verify(BODY, signature(), SECRET, { tolerance: NaN }), TypeError);
});

test("a signed body that is no event is refused", () => {
  for (const text of ["", "{}", "[]", "null", "nonsense", '{"id": "evt_1", "type": "x", "data": {}}']) {
    const body = Buffer.from(text);
    refused(() => webhooks.verify(body, signature(body), SECRET, { now: NOW }), /not an event/);
  }
  const broken = Buffer.from([0x22, 0xff, 0x22]);
  refused(() => webhooks.verify(broken, signature(broken), SECRET, { now: NOW }), /not an event/);
});

test("an amount beyond 2^53 keeps every digit", () => {
  const raw = "123456789012345678901234567890";
  const text = event().toString().replace('"amount":12500000', `"amount":${raw}`).replaceAll('"raw":"12500000"', `"raw":"${raw}"`);
  const body = Buffer.from(text);
  assert.equal(webhooks.verify(body, signature(body), SECRET, { now: NOW }).data.object.amount, raw);
  const small = event({ ...OBJECT, amount: 7, amount_details: undefined });
  assert.equal(webhooks.verify(small, signature(small), SECRET, { now: NOW }).data.object.amount, "7");
  const lost = Buffer.from(small.toString().replace('"amount":7', `"amount":${raw}`));
  refused(() => webhooks.verify(lost, signature(lost), SECRET, { now: NOW }), /exact amount is unknown/);
});

test("an event of a later type needs no amount", () => {
  const later = event({ id: "re_1", status: "completed" });
  assert.deepEqual(webhooks.verify(later, signature(later), SECRET, { now: NOW }).data.object, { id: "re_1", status: "completed" });
});

test("sign makes what verify takes, one signature for each secret", () => {
  assert.equal(webhooks.sign(BODY, SECRET, NOW), signature());
  const header = webhooks.sign(BODY, [OTHER, SECRET]);
  assert.equal(header.match(/v1=/g).length, 2);
  assert.equal(webhooks.verify(BODY, header, SECRET).id, "evt_1");
});
