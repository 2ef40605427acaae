/** Amounts in the customer's language. All amounts are strings or big integers, never floating-point numbers. */

import { inCurrency, inDigits, untranslated } from "./language";
import type { Amount } from "./server/types";

const SHORT_DIGITS = 6;
const COST_DIGITS = 8;
const ESTIMATE_DIGITS = 3;
/** In the token list, a balance has at most this many digits before the decimal point. */
const LONGEST_WHOLE = 12;
const DECIMAL = /^\d+(\.\d+)?$/;
/** Values in US dollars are added with this many decimal places. */
const SCALE = 18;
const CENT = 10n ** BigInt(SCALE - 2);

/** Format the exact amount. Trailing zeros are removed, but two fraction digits stay if the token has them. */
export function plain(amount: Amount): string {
  return inDigits(exact(amount));
}

/** Format like `plain`, but with a decimal point in every language, because wallets expect that. */
export function exact(amount: Amount): string {
  const [whole = "0", fraction = ""] = amount.formatted.split(".");
  return joined(whole, fraction, Math.min(2, amount.decimals));
}

/** Subtract a part from an amount. If the part is larger, return zero. */
export function less(amount: Amount, part: Amount): Amount {
  const left = BigInt(amount.raw) - BigInt(part.raw);
  const raw = (left > 0n ? left : 0n).toString();
  return amountOf(raw, amount.decimals);
}

/**
 * Format a wallet's balance for the token list. The text has six fraction digits below 1,000, two below 1,000,000, and
 * none above. Round down, so that the text isn't more than the balance.
 */
export function held(amount: Amount): string {
  const [digits = "0", fraction = ""] = amount.formatted.split(".");
  const whole = digits.replace(/^0+(?=\d)/, "");
  if (whole.length > LONGEST_WHOLE) return `>\u00a0${inDigits(grouped("9".repeat(LONGEST_WHOLE)))}`;
  const places = whole.length > 6 ? 0 : whole.length > 3 ? 2 : SHORT_DIGITS;
  const cut = fraction.slice(0, places);
  const isDust = !isZero(amount) && !/[1-9]/.test(whole + cut);
  const least = joined("0", "1".padStart(SHORT_DIGITS, "0"), 0);
  const shown = isDust ? `<\u00a0${least}` : joined(grouped(whole), cut, Math.min(2, places, amount.decimals));
  return inDigits(shown);
}

/**
 * Format an amount that a wallet needs, with as many digits as `held` shows. Round up, because the rounded-down amount
 * would not be enough.
 */
export function needed(amount: Amount): string {
  const [whole = "0", fraction = ""] = roundedUp(amount).split(".");
  return inDigits(joined(grouped(whole), fraction, fraction.length));
}

/**
 * Format an amount that leaves a wallet, with eight significant digits. Round up, so that no more leaves the wallet
 * than shown.
 */
export function costs(amount: Amount): string {
  return inDigits(roundedUp(amount));
}

function roundedUp(amount: Amount): string {
  const length = amount.raw.length;
  const kept = Math.max(COST_DIGITS, length - amount.decimals + 2);
  if (length <= kept) return exact(amount);
  const unit = 10n ** BigInt(length - kept);
  const up = ((BigInt(amount.raw) + unit - 1n) / unit) * unit;
  const digits = up.toString().padStart(amount.decimals + 1, "0");
  const point = digits.length - amount.decimals;
  return joined(digits.slice(0, point), digits.slice(point), Math.min(2, amount.decimals));
}

/** Format an estimate with three significant digits. If the whole part has more digits, show all of them. */
export function about(amount: Amount): string {
  const text = exact(amount);
  const [whole = "", fraction = ""] = text.split(".");
  if (isZero(amount)) return inDigits(text);
  const leadingZeros = fraction.search(/[1-9]/);
  const places = whole === "0" ? leadingZeros + ESTIMATE_DIGITS : Math.max(0, ESTIMATE_DIGITS - whole.length);
  return inDigits(joined(whole, fraction.slice(0, places), 0));
}

/**
 * Format US dollars, rounded to the cent. The text is empty if the value is unknown. A value between zero and a cent is
 * `< $0.01`.
 */
export function dollars(usd: string | null | undefined): string {
  if (!usd || !DECIMAL.test(usd)) return "";
  const units = scaled(usd);
  if (units > 0n && units < CENT) return untranslated(`<\u00a0${inCurrency("0.01", "USD")}`);
  const cents = (units + CENT / 2n) / CENT;
  return untranslated(inCurrency(amountOf(cents.toString(), 2).formatted, "USD"));
}

/**
 * Format the value of an amount. A price source may round the value of a small amount to zero: it is shown as less than
 * a cent.
 */
export function worth(amount: Amount, usd: string | null | undefined): string {
  const isRoundedOff = /^0+(\.0+)?$/.test(usd ?? "") && !isZero(amount);
  return dollars(isRoundedOff ? "0.001" : usd);
}

/** The loss between two values in US dollars. Null if a value is unknown, or if nothing is lost. */
export function lost(sent: string | null | undefined, received: string | null | undefined): string | null {
  if (!sent || !received || !DECIMAL.test(sent) || !DECIMAL.test(received)) return null;
  const units = scaled(sent) - scaled(received);
  return units > 0n ? amountOf(units.toString(), SCALE).formatted : null;
}

/** Compare two decimal strings. The result is negative if the first one is larger. Null is the smallest. */
export function larger(one: string | null, other: string | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  const [a, b] = [scaled(one), scaled(other)];
  return a === b ? 0 : a > b ? -1 : 1;
}

/** The sum of decimal strings. Null if one of them is unknown. */
export function sum(parts: readonly (string | null | undefined)[]): string | null {
  if (parts.some((part) => part === null || part === undefined)) return null;
  const total = parts.reduce<bigint>((all, part) => all + scaled(part ?? ""), 0n);
  return amountOf(total.toString(), SCALE).formatted;
}

/** An amount from its base units. */
export function amountOf(raw: string, decimals: number): Amount {
  const digits = raw.padStart(decimals + 1, "0");
  const point = digits.length - decimals;
  return { raw, decimals, formatted: decimals ? `${digits.slice(0, point)}.${digits.slice(point)}` : digits };
}

export function isZero(amount: Amount): boolean {
  return BigInt(amount.raw) === 0n;
}

function scaled(text: string): bigint {
  const [whole = "0", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.slice(0, SCALE).padEnd(SCALE, "0"));
}

function joined(whole: string, fraction: string, least: number): string {
  const trimmed = fraction.replace(/0+$/, "").padEnd(least, "0");
  return trimmed ? `${whole}.${trimmed}` : whole;
}

function grouped(whole: string): string {
  return whole.replace(/^0+(?=\d)/, "").replace(/\B(?=(\d{3})+$)/g, ",");
}
