import { describe, expect, test } from "vitest";
import { about, amountOf, costs, dollars, held, isZero, larger, less, lost, needed, plain, sum, worth } from "../src/money";
import { withoutMarks } from "../src/marks";
import type { Amount } from "../src/server/types";

function amount(formatted: string, decimals = 18): Amount {
  const [whole = "", fraction = ""] = formatted.split(".");
  return amountOf(BigInt(whole + fraction.padEnd(decimals, "0")).toString(), decimals);
}

describe("plain", () => {
  test.each([
    ["10.500000", 6, "10.50"],
    ["10.123456", 6, "10.123456"],
    ["3", 0, "3"],
    ["3.5", 1, "3.5"],
    ["0.000001", 6, "0.000001"],
  ])("%s with %i decimals is shown as %s", (formatted, decimals, shown) => {
    expect(plain(amount(formatted, decimals))).toBe(shown);
  });
});

test.each([
  ["0.123456789012345678", "0.123456"],
  ["1234.567891234567891234", "1,234.56"],
  ["123456789012.123456789012345678", "123,456,789,012"],
  ["1234567890123456.0", ">\u00a0999,999,999,999"],
  ["0.000000000000000001", "<\u00a00.000001"],
  ["0", "0.00"],
])("balance %s is cut to %s in a row", (formatted, shown) => {
  expect(held(amount(formatted))).toBe(shown);
});

test.each([
  ["1.000000000000000001", "1.0000001"],
  ["0.123456789012345678", "0.12345679"],
  ["12345.678901234", "12345.679"],
  ["10.5", "10.50"],
])("cost %s is rounded up to %s", (formatted, shown) => {
  expect(costs(amount(formatted))).toBe(shown);
});

test("needed amount is grouped and rounded up", () => {
  expect(needed(amount("26000.000000", 6))).toBe("26,000.00");
  expect(needed(amount("1234567.000000000000000001"))).toBe("1,234,567.01");
});

test.each([
  ["1.23456", "1.23"],
  ["0.000123456", "0.000123"],
  ["0.1", "0.1"],
  ["12.3456", "12.3"],
  ["120.5", "120"],
  ["1200.5", "1200"],
  ["5", "5"],
  ["0", "0.00"],
])("estimate of %s is shortened to %s", (formatted, shown) => {
  expect(about(amount(formatted))).toBe(shown);
});

test.each([
  ["12345678.90", "$12,345,678.90"],
  ["4.994", "$4.99"],
  ["4.995", "$5.00"],
  ["0.0099", "<\u00a0$0.01"],
  ["0.001", "<\u00a0$0.01"],
  ["0", "$0.00"],
  ["", ""],
  [null, ""],
  ["1e3", ""],
])("value %s in dollars is shown as %s", (usd, shown) => {
  expect(withoutMarks(dollars(usd))).toBe(shown);
});

test("value that a source rounded to zero is less than a cent", () => {
  expect(withoutMarks(worth(amount("0.000005", 9), "0.0000"))).toBe("<\u00a0$0.01");
  expect(withoutMarks(worth(amount("0", 9), "0.00"))).toBe("$0.00");
});

test.each([
  ["10.58", "10.55", "0.03"],
  ["10.55", "10.58", null],
  ["10.58", null, null],
])("between %s and %s, %s is lost", (sent, received, difference) => {
  const text = lost(sent, received);
  expect(text && Number(text)).toBe(difference && Number(difference));
});

test("remainder of an amount is never negative", () => {
  expect(less(amount("10.5", 6), amount("3", 6)).formatted).toBe("7.500000");
  expect(less(amount("3", 6), amount("10.5", 6)).raw).toBe("0");
});

test("values sort downwards, with unknown ones last", () => {
  const sorted = [null, "2", "10.5", "10.50", "0.1"].sort(larger);
  expect(sorted).toEqual(["10.5", "10.50", "2", "0.1", null]);
});

test("sum of decimal strings is exact, and unknown if a part is", () => {
  expect(sum(["0.1", "0.2"])).toMatch(/^0\.30*$/);
  expect(sum(["1", null])).toBeNull();
});

test("amount from base units has all decimals", () => {
  expect(amountOf("1", 6)).toEqual({ raw: "1", decimals: 6, formatted: "0.000001" });
  expect(amountOf("42", 0).formatted).toBe("42");
  expect(isZero(amountOf("0", 6))).toBe(true);
});
