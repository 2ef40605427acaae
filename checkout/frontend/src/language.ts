/** The page's language: its messages, which come with the page, and how it writes numbers and units of time. */

import type english from "../../messages/en.json";

/** The names of the messages; those of `page.` stay on the server. */
export type Key = keyof typeof english;

/** A message, or its forms by plural category: `count` decides. */
type Message = string | Readonly<Record<string, string>>;

const messages = JSON.parse(document.getElementById("messages-data")?.textContent ?? "") as Readonly<Record<string, Message>>;
const { lang, dir } = document.documentElement;
const isEnglish = lang === "en";
// Amounts keep their western digits in every language; so does the text beside them.
const locale = `${lang}-u-nu-latn`;
const plurals = new Intl.PluralRules(lang);

/** The message with its placeholders filled in. */
export function say(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  const found = messages[key] ?? "";
  const text = typeof found === "string" ? found : (found[plurals.select(Number(values.count))] ?? found.other ?? "");
  return text.replace(/\{(\w+)\}/g, (_, name: string) => isolated(String(values[name] ?? "")));
}

/** The messages whose names begin with `prefix`, by what comes after it. */
export function group(prefix: string): Readonly<Record<string, string>> {
  const found = Object.entries(messages).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(found.map(([key, text]) => [key.slice(prefix.length), String(text)]));
}

/** The server's messages for these codes are meant for developers of programs that call too often. */
const FOR_PROGRAMS = new Set(["rate_limited"]);

/**
 * What the server says by a code. Its own sentence, which is English, names more where the page is English too, and
 * has to do where a code is new.
 */
export function messageFor(kind: "failure" | "refusal" | "detail", code: string, sentence: string): string {
  return isEnglish && sentence && !FOR_PROGRAMS.has(code) ? sentence : String(messages[`${kind}.${code}`] ?? sentence);
}

const FROM_RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
/** Characters that change the direction of text; no name needs them. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066\u2067]/g;

/** Keeps an amount or a name in one piece and in its own direction, where it or the text around it runs the other way. */
export function isolated(text: string): string {
  const own = text.replace(TURNING, "");
  return dir === "rtl" || FROM_RIGHT_TO_LEFT.test(own) ? `\u2068${own}\u2069` : own;
}

/** "5 min", as the language writes it. */
export function unit(count: number, name: "second" | "minute" | "hour" | "day"): string {
  return new Intl.NumberFormat(locale, { style: "unit", unit: name, unitDisplay: "short" }).format(count);
}

/** An instant in the customer's own time zone, which it names. */
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
