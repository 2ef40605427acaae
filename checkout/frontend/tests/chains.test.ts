import { expect, test } from "vitest";
import { Chains } from "../src/chains";
import { isTransactionHash } from "../src/families";
import { chain, chains, FAR, HASH, HERE } from "./fixtures";

test("transaction links to the explorer of its chain", () => {
  expect(chains.transactionUrl(HERE, HASH)).toBe(`https://scan.example/tx/${HASH}`);
  expect(chains.transactionUrl(FAR, HASH)).toBe(`https://far.example/tx/${HASH}`);
});

test.each([null, "javascript:alert(1)", "scan.example"])("explorer %s gives no link", (explorer_url) => {
  const here = chain({ explorer_url });
  expect(new Chains([], here).transactionUrl(HERE, HASH)).toBeNull();
});

test("hash can't leave its place in an explorer's URL", () => {
  expect(chains.transactionUrl(HERE, "../?x")).toBe("https://scan.example/tx/..%2F%3Fx");
});

test("unknown chain is named by its id", () => {
  expect(chains.name(5)).toBe("5");
  expect(chains.get(5)).toBeNull();
});

test.each([
  ["evm", HASH, true],
  ["evm", HASH.toUpperCase().replace("X", "x"), true],
  ["evm", HASH.slice(0, -1), false],
  ["evm", "4".repeat(88), false],
  ["solana", "4".repeat(88), true],
  ["solana", HASH, false],
  ["solana", "4".repeat(63), false],
  ["later", "anything", true],
  ["later", "", false],
])("%s: whether %s may be a hash is %s", (family, text, expected) => {
  expect(isTransactionHash(family, text)).toBe(expected);
});
