/**
 * The words of this script, in the checkout's languages. They are in checkout/messages/ with all others, and are taken
 * from there when it is built. The dialog and the checkout in it speak the same language: both go by the browser's.
 */

import type { Labels } from "./quittance";
import words from "./words.json";

const LANGUAGES: Readonly<Record<string, readonly string[]>> = words;
/** Other names of the same, as merchants/languages.py has them. */
const ALSO: Readonly<Record<string, string>> = { pt: "pt-BR", zh: "zh-Hans", "zh-cn": "zh-Hans", "zh-sg": "zh-Hans" };
const BY_LOWER_CASE = new Map(Object.keys(LANGUAGES).map((tag) => [tag.toLowerCase(), tag]));

/** A language that the checkout speaks, and whether the page has to request it, since the browser does not. */
export interface Language {
  readonly tag: string;
  readonly isTold: boolean;
}

/** The first that there is: what the shop's script says, what the browser asks for, what the shop's page is in. */
export function chosenLanguage(wanted: string | undefined): Language | null {
  const requested = wanted && known(wanted);
  if (requested) return { tag: requested, isTold: true };
  for (const tag of navigator.languages) {
    const found = known(tag);
    if (found) return { tag: found, isTold: false };
  }
  const shops = known(document.documentElement.lang);
  return shops ? { tag: shops, isTold: true } : null;
}

export function labelsIn(language: Language | null): Labels {
  const [title = "", close = "", opening = "", openPage = "", elsewhere = ""] = LANGUAGES[language?.tag ?? "en"] ?? words.en;
  return { title, close, opening, openPage, elsewhere };
}

/** Has the element's words read out, and run, as their language does. */
export function speak(element: HTMLElement, language: Language | null): void {
  element.lang = language?.tag ?? "en";
  element.dir = element.lang === "ar" ? "rtl" : "ltr";
}

function known(tag: string): string | undefined {
  for (let name = tag.toLowerCase(); name; name = name.slice(0, Math.max(name.lastIndexOf("-"), 0))) {
    const found = BY_LOWER_CASE.get(name) ?? ALSO[name];
    if (found) return found;
    // Who reads Traditional Chinese is not taken for a reader of Simplified Chinese.
    if (/^zh-(?!hans)/.test(name)) return undefined;
  }
  return undefined;
}
