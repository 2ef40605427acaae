/**
 * The words of this script, in the checkout's languages. They stand in checkout/messages/ with all others; the build
 * takes these alone. The dialog and the checkout in it speak the same language: both go by the browser's.
 */

import * as ar from "../../../messages/ar.json";
import * as de from "../../../messages/de.json";
import * as en from "../../../messages/en.json";
import * as es from "../../../messages/es.json";
import * as fr from "../../../messages/fr.json";
import * as it from "../../../messages/it.json";
import * as ja from "../../../messages/ja.json";
import * as ko from "../../../messages/ko.json";
import * as pt from "../../../messages/pt-BR.json";
import * as ru from "../../../messages/ru.json";
import * as tr from "../../../messages/tr.json";
import * as zh from "../../../messages/zh-Hans.json";
import type { Labels } from "./quittance";

type Words = readonly [title: string, close: string, opening: string, openPage: string, elsewhere: string];

const ENGLISH: Words = [en["page.payment"], en["shop.close"], en["shop.opening"], en["shop.openPage"], en["shop.elsewhere"]];
const LANGUAGES: Readonly<Record<string, Words>> = {
  en: ENGLISH,
  es: [es["page.payment"], es["shop.close"], es["shop.opening"], es["shop.openPage"], es["shop.elsewhere"]],
  "pt-BR": [pt["page.payment"], pt["shop.close"], pt["shop.opening"], pt["shop.openPage"], pt["shop.elsewhere"]],
  fr: [fr["page.payment"], fr["shop.close"], fr["shop.opening"], fr["shop.openPage"], fr["shop.elsewhere"]],
  de: [de["page.payment"], de["shop.close"], de["shop.opening"], de["shop.openPage"], de["shop.elsewhere"]],
  it: [it["page.payment"], it["shop.close"], it["shop.opening"], it["shop.openPage"], it["shop.elsewhere"]],
  tr: [tr["page.payment"], tr["shop.close"], tr["shop.opening"], tr["shop.openPage"], tr["shop.elsewhere"]],
  ru: [ru["page.payment"], ru["shop.close"], ru["shop.opening"], ru["shop.openPage"], ru["shop.elsewhere"]],
  ja: [ja["page.payment"], ja["shop.close"], ja["shop.opening"], ja["shop.openPage"], ja["shop.elsewhere"]],
  ko: [ko["page.payment"], ko["shop.close"], ko["shop.opening"], ko["shop.openPage"], ko["shop.elsewhere"]],
  "zh-Hans": [zh["page.payment"], zh["shop.close"], zh["shop.opening"], zh["shop.openPage"], zh["shop.elsewhere"]],
  ar: [ar["page.payment"], ar["shop.close"], ar["shop.opening"], ar["shop.openPage"], ar["shop.elsewhere"]],
};
/** Other names of the same, as merchants/languages.py has them. */
const ALSO: Readonly<Record<string, string>> = { pt: "pt-BR", zh: "zh-Hans", "zh-cn": "zh-Hans", "zh-sg": "zh-Hans" };
const BY_LOWER_CASE = new Map(Object.keys(LANGUAGES).map((tag) => [tag.toLowerCase(), tag]));

/** A language that the checkout speaks, and whether it has to be told to, since the browser does not ask for it. */
export interface Language {
  readonly tag: string;
  readonly isTold: boolean;
}

/** The first that there is: what the shop's script says, what the browser asks for, what the shop's page is in. */
export function chosenLanguage(wanted: string | undefined): Language | null {
  const told = wanted && known(wanted);
  if (told) return { tag: told, isTold: true };
  for (const tag of navigator.languages) {
    const found = known(tag);
    if (found) return { tag: found, isTold: false };
  }
  const shops = known(document.documentElement.lang);
  return shops ? { tag: shops, isTold: true } : null;
}

export function labelsIn(language: Language | null): Labels {
  const [title, close, opening, openPage, elsewhere] = LANGUAGES[language?.tag ?? "en"] ?? ENGLISH;
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
