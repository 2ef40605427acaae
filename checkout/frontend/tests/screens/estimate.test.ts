import { beforeEach, expect, test, vi } from "vitest";
import { copy } from "../../src/copy";
import { estimateLine, estimateOf, isSlow, tickEstimate } from "../../src/screens/estimate";
import { NOW, own } from "../fixtures";

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});

test("estimate counts down, then says any moment", () => {
  document.body.append(estimateLine({ sentAt: NOW, seconds: 12 }));
  const shown = [0, 3, 4, 20].map((after) => {
    vi.setSystemTime(NOW + after * 1000);
    tickEstimate();
    return document.getElementById("estimate")?.textContent;
  });
  expect(shown).toEqual([copy.secondsLeft(15), copy.secondsLeft(10), copy.secondsLeft(10), copy.anyMoment]);
});

test("long estimate is in minutes", () => {
  expect(estimateLine({ sentAt: NOW, seconds: 170 }).textContent).toBe(copy.secondsLeft(180));
  expect(copy.secondsLeft(180)).toContain("3");
});

test.each([
  [40, 80, false],
  [40, 81, true],
  [4, 30, false],
  [4, 31, true],
])("estimate of %i s is slow after %i s: %s", (seconds, after, expected) => {
  expect(isSlow({ sentAt: NOW - after * 1000, seconds })).toBe(expected);
});

test.each([[undefined], [null], [0]])("transaction with an estimate of %s has none", (seconds) => {
  expect(estimateOf(own(seconds === undefined ? {} : { seconds }))).toBe(null);
  expect(estimateOf(null)).toBe(null);
});
