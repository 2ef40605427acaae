/** The page's language: the messages, and the formats of numbers and times. The messages are in the page's data. */

import type english from "../../messages/en.json";
import { inMarks } from "./marks";

/** The keys of the messages. Messages whose keys begin with `page.` are only used on the server. */
export type Key = keyof typeof english;

/** A message, or its forms by plural category. `count` selects the form. */
type Message = string | Readonly<Record<string, string>>;

const messages = JSON.parse(document.getElementById("messages-data")?.textContent ?? "") as Readonly<Record<string, Message>>;
const { lang, dir } = document.documentElement;
const isEnglish = lang === "en";
// Amounts use western digits in every language. So the other numbers use them, too.
const locale = `${lang}-u-nu-latn`;
const plurals = new Intl.PluralRules(lang);
const separators = new Intl.NumberFormat(locale).formatToParts(12345.6);
const separator = (type: "decimal" | "group"): string => separators.find((part) => part.type === type)?.value ?? "";
const SEPARATORS: Readonly<Record<string, string>> = { ".": separator("decimal"), ",": separator("group") };

/** These placeholders contain amounts, symbols and codes. A translator would damage them: "SOL" would become "sun". */
const UNTRANSLATED = new Set(
  "allowed amount code fee held paid required rest token total usd usdIn usdOut wanted".split(" "),
);

/** Return the message with its placeholders filled in. */
export function say(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  const message = messages[key] ?? "";
  const text = typeof message === "string" ? message : (message[plurals.select(Number(values.count))] ?? message.other ?? "");
  return text.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(values[name] ?? "");
    return UNTRANSLATED.has(name) ? untranslated(value) : isolated(value);
  });
}

/** Return the messages whose keys begin with `prefix`. In the result, the keys don't have this prefix. */
export function group(prefix: string): Readonly<Record<string, string>> {
  const entries = Object.entries(messages).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(entries.map(([key, text]) => [key.slice(prefix.length), String(text)]));
}

/** For these codes, the server's message is for developers. The page shows its own. */
const FOR_PROGRAMS = new Set(["rate_limited", "deposit_address_unavailable", "sponsoring_unavailable"]);

/**
 * Return the message for a server's code. On English pages, return the server's sentence, which is more specific. On
 * other pages, return the translation or, if the code has no translation, the server's sentence.
 */
export function messageFor(kind: "failure" | "refusal" | "detail", code: string, sentence: string): string {
  const text = isEnglish && sentence && !FOR_PROGRAMS.has(code) ? sentence : String(messages[`${kind}.${code}`] ?? sentence);
  return text.replace(LONG_HASH, "$1…$2");
}

/**
 * A transaction's hash in a sentence. The sentence shows it shortened, because the page also shows the full hash in a
 * box.
 */
const LONG_HASH = /\b(0x[0-9a-f]{8})[0-9a-f]{48}([0-9a-f]{8})\b/gi;

const FROM_RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
/** Characters that change the direction of text. No name needs them. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066\u2067]/g;

/** Format a decimal string with the language's separators. In `text`, commas separate groups of digits. */
export function inDigits(text: string): string {
  return text.replace(/[.,]/g, (mark) => SEPARATORS[mark] ?? mark);
}

/** Format an amount of a currency. The amount is a decimal string. */
export function inCurrency(amount: string, currency: string): string {
  try {
    // Browsers that support decimal strings format them without rounding errors.
    return new Intl.NumberFormat(locale, { style: "currency", currency }).format(amount as unknown as number);
  } catch {
    return `${amount} ${currency}`;
  }
}

/** Isolate a name, because its direction may differ from that of the text around it. */
export function isolated(text: string): string {
  const own = text.replace(TURNING, "");
  return dir === "rtl" || FROM_RIGHT_TO_LEFT.test(own) ? inMarks(own) : own;
}

/** Put an amount or symbol between invisible marks. `el` keeps text between these marks from being translated. */
export function untranslated(text: string): string {
  return text ? inMarks(text.replace(TURNING, "")) : text;
}

/** Format a duration, such as "5 min". */
export function unit(count: number, name: "second" | "minute" | "hour" | "day"): string {
  return new Intl.NumberFormat(locale, { style: "unit", unit: name, unitDisplay: "short" }).format(count);
}

/** Format a time in the customer's time zone, with the zone's name. */
export function localTime(instant: string): string {
  const format = new Intl.DateTimeFormat(locale, {
    day: "numeric",
    month: "short",
    hour: "numeric",
    minute: "2-digit",
    timeZoneName: "short",
  });
  return format.format(new Date(instant));
}
