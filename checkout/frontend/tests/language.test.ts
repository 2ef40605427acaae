import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { writePage } from "./setup";

type Language = typeof import("../src/language");

async function pageIn(lang: string): Promise<Language> {
  const { default: messages } = (await import(`../../messages/${lang}.json`)) as { default: object };
  writePage(lang, messages);
  return import("../src/language");
}

beforeEach(() => vi.resetModules());

// Restore English: the test files after this one load their modules from an English page.
afterAll(() => {
  writePage();
  vi.resetModules();
});

test.each([
  ["en", "€25.00"],
  ["de", "25,00\u00a0€"],
])("price in %s is written as %s", async (lang, shown) => {
  const { inCurrency } = await pageIn(lang);
  expect(inCurrency("25.00", "EUR")).toBe(shown);
});

test.each([
  ["en", "1,234.50"],
  ["de", "1.234,50"],
  ["fr", "1\u202f234,50"],
  ["ar", "1,234.50"],
])("number in %s is written as %s", async (lang, shown) => {
  const { inDigits } = await pageIn(lang);
  expect(inDigits("1,234.50")).toBe(shown);
});

test("transaction's hash in a sentence is shortened", async () => {
  const { messageFor } = await pageIn("en");
  const hash = `0x${"ab".repeat(32)}`;
  expect(messageFor("failure", "other", `LI.FI reports ${hash} as the delivery.`)).toBe(
    "LI.FI reports 0xabababab…abababab as the delivery.",
  );
  expect(messageFor("failure", "other", `Send to 0x${"cd".repeat(20)}.`)).toContain("cd".repeat(20));
});

test("price in an unknown currency keeps the amount and the code", async () => {
  const { inCurrency } = await pageIn("en");
  expect(inCurrency("25.00", "EURO")).toBe("25.00 EURO");
});

test.each(["ar", "ja", "ru"])("numbers and times in %s have western digits", async (lang) => {
  const { localTime, unit } = await pageIn(lang);
  expect(unit(5, "minute")).toContain("5");
  expect(localTime("2026-01-02T15:04:00Z")).not.toMatch(/[٠-٩۰-۹०-९]/);
  expect(localTime("2026-01-02T15:04:00Z")).toMatch(/[0-9]/);
});

test("months and durations follow the language of the page", async () => {
  const { localTime, unit } = await pageIn("ja");
  expect(localTime("2026-01-02T15:04:00Z")).toContain("月");
  expect(unit(5, "minute")).toContain("分");
});

test("plural form follows the count", async () => {
  const { say } = await pageIn("en");
  expect(say("goingBack", { merchant: "Alice", count: 1 })).toContain("1 second.");
  expect(say("goingBack", { merchant: "Alice", count: 3 })).toContain("3 seconds.");
});

test("amount in right-to-left text is isolated", async () => {
  const { isolated, say } = await pageIn("ar");
  expect(isolated("10.50 USDC")).toBe("\u206810.50 USDC\u2069");
  expect(say("pay", { amount: "10.50 USDC" })).toContain("\u206810.50 USDC\u2069");
});

test("name loses characters that turn text, and is isolated", async () => {
  const { isolated } = await pageIn("en");
  expect(isolated("Alice \u202eCDSU 00.1")).toBe("Alice CDSU 00.1");
  expect(isolated("مقهى")).toBe("\u2068مقهى\u2069");
});

test("English page shows the server's sentence, except those for programs", async () => {
  const { messageFor } = await pageIn("en");
  expect(messageFor("refusal", "route_expired", "The price has moved.")).toBe("The price has moved.");
  expect(messageFor("refusal", "rate_limited", "Too many calls; wait 30 s.")).toBe("Too many attempts. Please wait a moment.");
});

test("page in another language translates codes that it knows", async () => {
  const { messageFor } = await pageIn("de");
  expect(messageFor("failure", "transaction_reverted", "It was undone.")).not.toContain("undone");
  expect(messageFor("failure", "new_code", "It was undone.")).toBe("It was undone.");
});
