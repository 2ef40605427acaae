/**
 * The messages of this script in the checkout's languages. The build takes them from checkout/messages/. The dialog and
 * the checkout in it use the same language. The default is the browser's language.
 */

import type { Labels } from "./quittance";
import words from "./words.json";

const LANGUAGES: Readonly<Record<string, readonly string[]>> = words;
/** Aliases of language tags, as in merchants/languages.py. */
const ALSO: Readonly<Record<string, string>> = { pt: "pt-BR", zh: "zh-Hans", "zh-cn": "zh-Hans", "zh-sg": "zh-Hans" };
const BY_LOWER_CASE = new Map(Object.keys(LANGUAGES).map((tag) => [tag.toLowerCase(), tag]));

/** A supported language. `isExplicit`: the language is not the browser's, so the checkout's URL must contain it. */
export interface Language {
  readonly tag: string;
  readonly isExplicit: boolean;
}

/**
 * The first supported one of these languages: the shop's option, the browser's languages, the language of the shop's
 * page.
 */
export function chosenLanguage(option: string | undefined): Language | null {
  const requested = option && supported(option);
  if (requested) return { tag: requested, isExplicit: true };
  for (const language of navigator.languages) {
    const tag = supported(language);
    if (tag) return { tag, isExplicit: false };
  }
  const ofPage = supported(document.documentElement.lang);
  return ofPage ? { tag: ofPage, isExplicit: true } : null;
}

export function labelsIn(language: Language | null): Labels {
  const [title = "", close = "", opening = "", openPage = "", elsewhere = ""] = LANGUAGES[language?.tag ?? "en"] ?? words.en;
  return { title, close, opening, openPage, elsewhere };
}

/** Set the element's language and text direction. */
export function speak(element: HTMLElement, language: Language | null): void {
  element.lang = language?.tag ?? "en";
  element.dir = element.lang === "ar" ? "rtl" : "ltr";
}

function supported(tag: string): string | undefined {
  for (let name = tag.toLowerCase(); name; name = name.slice(0, Math.max(name.lastIndexOf("-"), 0))) {
    const match = BY_LOWER_CASE.get(name) ?? ALSO[name];
    if (match) return match;
    // Tags of Traditional Chinese don't match Simplified Chinese.
    if (/^zh-(?!hans)/.test(name)) return undefined;
  }
  return undefined;
}
