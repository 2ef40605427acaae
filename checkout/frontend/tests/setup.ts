/** The parts of the page that modules read when they load: the messages in English. */

import { afterEach, vi } from "vitest";
import messages from "../../messages/en.json";

export function writePage(lang = "en", texts: object = messages): void {
  document.documentElement.lang = lang;
  document.documentElement.dir = lang === "ar" ? "rtl" : "ltr";
  document.body.innerHTML = '<script type="application/json" id="messages-data"></script>';
  document.getElementById("messages-data")!.textContent = JSON.stringify(texts);
}

writePage();

// The code never removes its listeners, because its page ends with them. Here, all tests share a page, so each test
// removes them.
const ends: (() => void)[] = [];
for (const target of [window, document] as EventTarget[]) {
  const { addEventListener } = target;
  target.addEventListener = (...given: Parameters<EventTarget["addEventListener"]>) => {
    ends.push(() => target.removeEventListener(given[0], given[1], given[2]));
    addEventListener.apply(target, given);
  };
}

afterEach(() => {
  ends.splice(0).forEach((end) => end());
  vi.useRealTimers();
  localStorage.clear();
  sessionStorage.clear();
});
