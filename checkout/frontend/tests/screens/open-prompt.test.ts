import { expect, test } from "vitest";
import { withOpenPrompt } from "../../src/screens/open-prompt";
import { screen } from "../../src/screens/parts";

const DECLINE = "Decline the request that is still open in your wallet. This payment is already on its way.";
const IF_OPEN = "If your wallet still shows a request for this payment, decline it.";

test.each([
  ["processing", "here", DECLINE],
  ["late", "here", DECLINE],
  ["completed", "here", DECLINE],
  ["completed", "unanswered", IF_OPEN],
  ["processing", "unanswered", IF_OPEN],
  ["expired", "here", IF_OPEN],
  ["cancelled", "here", IF_OPEN],
  ["time-up", "here", IF_OPEN],
  ["unavailable", "unanswered", IF_OPEN],
] as const)("screen %s with a prompt %s says what to decline", (name, prompt, text) => {
  const { nodes, spoken } = withOpenPrompt(screen(name, "Heading", [document.createElement("p")]), prompt);
  expect([nodes.length, nodes[0]?.textContent]).toEqual([2, text]);
  expect(spoken).toBe(`Heading ${text}`);
});

test.each(["choose", "review", "confirming", "failed"])("screen %s stays as it is", (name) => {
  const shown = screen(name, "Heading", []);
  expect(withOpenPrompt(shown, "here")).toBe(shown);
});

test("screen without an open prompt stays as it is", () => {
  const shown = screen("completed", "Heading", []);
  expect(withOpenPrompt(shown, null)).toBe(shown);
});
