/** Amounts for people. Strings and big integers throughout: no amount is ever a floating-point number. */

import { inCurrency, untranslated } from "./language";
import type { Amount } from "./server/types";

const SHORT_DIGITS = 6;
const COST_DIGITS = 8;
const ESTIMATE_DIGITS = 3;
/** 999,999,999,999 is the most that a row shows. */
const LONGEST_WHOLE = 12;

/** The whole amount without trailing zeros, but with two fraction digits where the token has them. */
export function plain(amount: Amount): string {
  const [whole = "0", fraction = ""] = amount.formatted.split(".");
  return joined(whole, fraction, Math.min(2, amount.decimals));
}

/** What is left of an amount without a part of it; zero if the part is larger. */
export function less(amount: Amount, part: Amount): Amount {
  const left = BigInt(amount.raw) - BigInt(part.raw);
  const raw = (left > 0n ? left : 0n).toString();
  const digits = raw.padStart(amount.decimals + 1, "0");
  const point = digits.length - amount.decimals;
  const formatted = amount.decimals ? `${digits.slice(0, point)}.${digits.slice(point)}` : digits;
  return { ...amount, raw, formatted };
}

/**
 * What a wallet holds, short enough for a row: six fraction digits, two from 1,000 on and none from 1,000,000 on. The
 * rest is cut off, since rounding up would show more than there is.
 */
export function held(amount: Amount): string {
  const [digits = "0", fraction = ""] = amount.formatted.split(".");
  const whole = digits.replace(/^0+(?=\d)/, "");
  if (whole.length > LONGEST_WHOLE) return `>\u00a0${grouped("9".repeat(LONGEST_WHOLE))}`;
  const places = whole.length > 6 ? 0 : whole.length > 3 ? 2 : SHORT_DIGITS;
  const cut = fraction.slice(0, places);
  const isDust = !isZero(amount) && !/[1-9]/.test(whole + cut);
  const least = joined("0", "1".padStart(SHORT_DIGITS, "0"), 0);
  return isDust ? `<\u00a0${least}` : joined(grouped(whole), cut, Math.min(2, places, amount.decimals));
}

/** What a wallet needs, grouped as what it holds is; rounded up, since less would not be enough. */
export function needed(amount: Amount): string {
  const [whole = "0", fraction = ""] = costs(amount).split(".");
  return joined(grouped(whole), fraction, fraction.length);
}

/** What leaves a wallet, in eight digits that count: rounded up, so that it is never more than was said. */
export function costs(amount: Amount): string {
  const length = amount.raw.length;
  const kept = Math.max(COST_DIGITS, length - amount.decimals + 2);
  if (length <= kept) return plain(amount);
  const unit = 10n ** BigInt(length - kept);
  const up = ((BigInt(amount.raw) + unit - 1n) / unit) * unit;
  const digits = up.toString().padStart(amount.decimals + 1, "0");
  const point = digits.length - amount.decimals;
  return joined(digits.slice(0, point), digits.slice(point), Math.min(2, amount.decimals));
}

/** An estimate: the whole part, and fraction digits up to three digits that count in all. */
export function about(amount: Amount): string {
  const text = plain(amount);
  const [whole = "", fraction = ""] = text.split(".");
  if (isZero(amount)) return text;
  const leadingZeros = fraction.search(/[1-9]/);
  const places = whole === "0" ? leadingZeros + ESTIMATE_DIGITS : Math.max(0, ESTIMATE_DIGITS - whole.length);
  return joined(whole, fraction.slice(0, places), 0);
}

/** US dollars in cents; empty where the value is not known. */
export function dollars(usd: string | null | undefined): string {
  if (!usd || !/^\d+(\.\d+)?$/.test(usd)) return "";
  const [whole = "0", fraction = ""] = usd.split(".");
  const cents = fraction.slice(0, 2).padEnd(2, "0");
  const isDust = /^0*$/.test(whole + cents) && /[1-9]/.test(fraction);
  return untranslated(isDust ? "<\u00a0$0.01" : `$${grouped(whole)}.${cents}`);
}

/** The value of an amount. The server rounds it to cents, so a smaller one is less than a cent instead of zero. */
export function worth(amount: Amount, usd: string | null | undefined): string {
  const isRoundedOff = /^0+(\.0+)?$/.test(usd ?? "") && !isZero(amount);
  return dollars(isRoundedOff ? "0.001" : usd);
}

/** Which of two decimal strings is the larger: below zero for the first. Null is less than anything. */
export function larger(one: string | null, other: string | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  const [a, b] = [scaled(one), scaled(other)];
  return a === b ? 0 : a > b ? -1 : 1;
}

/** The sum of decimal strings; null where one of them is not known. */
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

const SCALE = 18;

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

/** Write the price in the merchant's currency as the page's language does. */
export function showPrice(): void {
  const shown = document.getElementById("price");
  const { currency, amount } = shown?.dataset ?? {};
  if (shown && currency && amount) shown.textContent = inCurrency(amount, currency);
}
