import { expect, test } from "vitest";
import type { TypedData } from "../../src/server/types";
import { readTransfer, transferToSign, type Expected } from "../../src/sponsored/typed-data";
import { ETH, HERE, NOW, PAYER, RECIPIENT, STRANGER, USDC } from "../fixtures";

const SECONDS = NOW / 1000;
const expected: Expected = {
  account: PAYER,
  chainId: HERE,
  token: USDC,
  recipient: RECIPIENT,
  rawAmount: "10500000",
  now: NOW,
  expiresAt: NOW + 60 * 60_000,
};

const field = (type: string, name: string): object => ({ name, type });

function built(message: object = {}, domain: object = {}, rest: object = {}): TypedData {
  return {
    types: {
      EIP712Domain: [field("string", "name"), field("string", "version"), field("uint256", "chainId"), field("address", "verifyingContract")],
      TransferWithAuthorization: [
        field("address", "from"),
        field("address", "to"),
        field("uint256", "value"),
        field("uint256", "validAfter"),
        field("uint256", "validBefore"),
        field("bytes32", "nonce"),
      ],
    },
    primaryType: "TransferWithAuthorization",
    domain: { name: "USD Coin", version: "2", chainId: HERE, verifyingContract: USDC.contract_address, ...domain },
    message: {
      from: PAYER,
      to: RECIPIENT,
      value: "10500000",
      validAfter: "0",
      validBefore: String(SECONDS + 900),
      nonce: `0x${"56".repeat(32)}`,
      ...message,
    },
    ...rest,
  };
}

test("transfer as it was reviewed is signed as the page made it", () => {
  const given = built({ to: RECIPIENT.toLowerCase() });
  expect(transferToSign(given, expected)).toEqual(built());
});

test("transfer to be signed is decoded", () => {
  expect(readTransfer(built())).toEqual({
    chainId: HERE,
    party: RECIPIENT,
    contract: USDC.contract_address,
    rawAmount: "10500000",
    validUntil: new Date(NOW + 900_000).toISOString(),
  });
});

test.each<[string, TypedData]>([
  ["another recipient", built({ to: STRANGER })],
  ["another payer", built({ from: STRANGER })],
  ["a larger amount", built({ value: "10500001" })],
  ["an amount in another notation", built({ value: "0xa037a0" })],
  ["a later beginning", built({ validAfter: String(SECONDS + 1) })],
  ["an end in the past", built({ validBefore: String(SECONDS) })],
  ["an end in an hour", built({ validBefore: String(SECONDS + 3_600) })],
  ["no end", built({ validBefore: String(2n ** 256n - 1n) })],
  ["a nonce that is none", built({ nonce: "0x56" })],
  ["a further field", built({ data: "0x" })],
  ["another token", built({}, { verifyingContract: STRANGER })],
  ["another network", built({}, { chainId: 1 })],
  ["a domain without a name", built({}, { name: undefined })],
  ["a further field of the domain", built({}, { salt: `0x${"00".repeat(32)}` })],
  ["a permission", built({}, {}, { primaryType: "Permit" })],
  ["further types", built({}, {}, { types: { ...(built().types as object), Permit: [] } })],
  ["fields in another order", built({}, {}, { types: { ...(built().types as object), TransferWithAuthorization: [] } })],
])("transfer with %s is not signed", (_, given) => {
  expect(transferToSign(given, expected)).toBeNull();
});

test("transfer that outlives the request is not signed", () => {
  expect(transferToSign(built(), { ...expected, expiresAt: NOW + 5 * 60_000 })).toBeNull();
});

test("coin without a contract can't be signed for", () => {
  expect(transferToSign(built({}, { verifyingContract: "" }), { ...expected, token: ETH })).toBeNull();
});
