import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { deposits } from "quittance";

// The service computed these values; tests/unit/clients/test_deposit_vectors.py checks them.
const VECTORS = JSON.parse(readFileSync(new URL("deposits.json", import.meta.url), "utf8"));
const [{ payment_request: REQUEST, deposit: DEPOSIT, recipient: RECIPIENT }] = VECTORS.deposits;
const TOKEN = VECTORS.sweep.token;

test("the addresses of the service follow from request and recipient", () => {
  for (const { payment_request, recipient, address, deposit } of VECTORS.deposits) {
    assert.deepEqual(deposits.find(payment_request, recipient), { address, recipient, ...deposit });
    assert.deepEqual(deposits.find(payment_request.toUpperCase(), recipient.toLowerCase()).address, address);
    assert.deepEqual(deposits.fromSalt(deposit.salt, recipient).address, address);
  }
});

test("the address follows from the values of the API", () => {
  for (const { address, deposit, recipient } of VECTORS.deposits) {
    const { factory, salt, init_code, init_code_hash } = deposit;
    for (const rest of [{ init_code }, { init_code_hash }, { init_code, init_code_hash }]) {
      assert.equal(deposits.computeAddress({ factory, salt, ...rest }), address);
    }
    assert.equal(deposits.recipientOf(init_code), recipient);
  }
});

test("CREATE2 addresses are those of EIP-1014", () => {
  const values = {
    factory: `0x${"0".repeat(32)}deadbeef`,
    salt: `0x${"0".repeat(56)}cafebabe`,
    init_code: `0x${"deadbeef".repeat(11)}`,
  };
  assert.equal(deposits.computeAddress(values), "0x1d8bfDC5D46DC4f61D6b6115972536eBE6A8854C");
});

test("long codes are hashed in several blocks", () => {
  for (const { size, address } of VECTORS.sizes) {
    const init_code = `0x${"61".repeat(size)}`;
    assert.equal(deposits.computeAddress({ ...DEPOSIT, init_code, init_code_hash: undefined }), address);
  }
});

test("a sweep is the service's", () => {
  const deposit = deposits.find(REQUEST, RECIPIENT);
  const built = deposits.buildSweep([{ deposit, token: TOKEN }, { deposit, token: "" }]);
  assert.deepEqual(built, VECTORS.sweep.transaction);
});

test("invalid values are refused", () => {
  const { factory, salt, init_code, init_code_hash } = DEPOSIT;
  const deposit = deposits.find(REQUEST, RECIPIENT);
  const other = deposits.find(REQUEST, RECIPIENT, TOKEN);
  const mistyped = RECIPIENT.slice(0, -1) + (RECIPIENT.endsWith("f") ? "F" : "f");
  for (const [call, words] of [
    [() => deposits.find("order-1", RECIPIENT), /not the ID of a payment request/],
    [() => deposits.find(REQUEST, "0x1234"), /not an address/],
    [() => deposits.find(REQUEST, mistyped), /wrong checksum/],
    [() => deposits.find(REQUEST, `0x${"00".repeat(20)}`), /zero address/],
    [() => deposits.fromSalt(salt.slice(0, -2), RECIPIENT), /salt should have 32 bytes/],
    [() => deposits.fromSalt(salt.slice(2), RECIPIENT), /salt should be 0x/],
    [() => deposits.computeAddress({ factory, salt }), /Pass init_code/],
    [() => deposits.computeAddress({ factory, salt, init_code, init_code_hash: salt }), /not the hash/],
    [() => deposits.recipientOf(`${init_code}00`), /not the init code of a forwarder/],
    [() => deposits.recipientOf(init_code_hash), /not the init code of a forwarder/],
    [() => deposits.buildSweep([]), /one factory/],
    [() => deposits.buildSweep([{ deposit, token: "" }, { deposit: other, token: "" }]), /one factory/],
    [() => deposits.buildSweep([{ deposit, token: "" }], 1.5), /whole number/],
  ]) {
    assert.throws(call, (error) => error instanceof TypeError && words.test(error.message));
  }
});
