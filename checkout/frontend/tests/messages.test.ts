import { expect, test } from "vitest";
import { isMessage } from "../src/messages";

test.each([null, undefined, 7, "hello", {}, { type: "hello" }, { quittance: 2, type: "hello" }, { quittance: 1, type: 7 }])(
  "%j is no message of this protocol",
  (data) => {
    expect(isMessage(data)).toBe(false);
  },
);

test("message names its version and type", () => {
  expect(isMessage({ quittance: 1, type: "hello" })).toBe(true);
});
