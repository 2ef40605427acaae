import { beforeEach, expect, test, vi } from "vitest";
import { chosenLanguage, labelsIn, speak } from "../../src/shop/words";

function browserSpeaks(...languages: string[]): void {
  vi.spyOn(navigator, "languages", "get").mockReturnValue(languages);
}

beforeEach(() => {
  document.documentElement.lang = "nl";
  browserSpeaks("nl-NL");
});

test.each([
  ["de-AT", "de"],
  ["pt-PT", "pt-BR"],
  ["zh-CN", "zh-Hans"],
  ["ar-EG", "ar"],
  ["EN-us", "en"],
])("browser that asks for %s gets %s", (asked, tag) => {
  browserSpeaks("nl", asked);
  expect(chosenLanguage(undefined)).toEqual({ tag, isExplicit: false });
});

test("Traditional Chinese is not served as Simplified", () => {
  browserSpeaks("zh-TW");
  expect(chosenLanguage(undefined)).toBeNull();
});

test("language that the shop chooses comes first, and is explicit", () => {
  browserSpeaks("de");
  expect(chosenLanguage("ar-SA")).toEqual({ tag: "ar", isExplicit: true });
});

test.each(["<b>", "", "nl"])("unknown option %j leaves the choice to the browser", (option) => {
  browserSpeaks("de");
  expect(chosenLanguage(option)?.tag).toBe("de");
});

test("language of the shop's page is the last choice", () => {
  document.documentElement.lang = "fr-CA";
  expect(chosenLanguage(undefined)).toEqual({ tag: "fr", isExplicit: true });
});

test("without any known language the dialog is in English", () => {
  const dialog = document.createElement("dialog");
  speak(dialog, chosenLanguage(undefined));
  expect([dialog.lang, dialog.dir, labelsIn(null).close]).toEqual(["en", "ltr", "Close the payment"]);
});

test("Arabic dialog runs from right to left", () => {
  const dialog = document.createElement("dialog");
  speak(dialog, { tag: "ar", isExplicit: true });
  expect([dialog.lang, dialog.dir]).toEqual(["ar", "rtl"]);
});
