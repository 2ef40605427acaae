import { beforeEach, expect, test, vi } from "vitest";
import { copy } from "../../src/copy";
import { Finder } from "../../src/page/finder";
import { chains, HASH, HERE, payment } from "../fixtures";
import { writePage } from "../setup";

const FORM = `<form id="finder"><p id="finder-answer"></p><input id="finder-hash"><button>Find</button></form>`;
const announce = vi.fn();
const onFound = vi.fn();
let finder: Finder;

const field = (): HTMLInputElement => document.getElementById("finder-hash") as HTMLInputElement;
const answer = (): string => document.getElementById("finder-answer")?.textContent ?? "";

function enter(text: string): void {
  field().value = text;
  document.getElementById("finder")?.dispatchEvent(new Event("submit", { cancelable: true }));
}

beforeEach(() => {
  writePage();
  document.body.insertAdjacentHTML("beforeend", FORM);
  announce.mockReset();
  onFound.mockReset();
  finder = new Finder(chains, announce, onFound);
});

test("mistyped hash stays, with its error at the focused field", () => {
  enter("0x123");
  expect([field().value, answer(), field().getAttribute("aria-invalid")]).toEqual(["0x123", copy.findEmpty("evm"), "true"]);
  expect(document.activeElement).toBe(field());
  expect(announce).toHaveBeenCalledWith(copy.findEmpty("evm"));
  expect(onFound).not.toHaveBeenCalled();
});

test("correction removes the error", () => {
  enter("0x123");
  field().dispatchEvent(new Event("input"));
  expect([answer(), field().getAttribute("aria-invalid")]).toEqual(["", "false"]);
});

test("submitted hash stays until a node has seen its transaction", () => {
  enter(` ${HASH.toUpperCase().replace("0X", "0x")} `);
  expect(onFound).toHaveBeenCalledTimes(1);
  expect(answer()).toBe(copy.findDone);
  const unseen = payment({ is_seen: false, failure_code: "transaction_not_found" });
  finder.follow([unseen], { payment: unseen, kind: "unseen" });
  expect(field().value).not.toBe("");
  expect(answer()).toContain(copy.unseenHelp);
  finder.follow([payment()], null);
  expect([field().value, answer()]).toEqual(["", ""]);
});

test("rejection of another hash is not at the field", () => {
  enter(HASH);
  expect(finder.rejected(HASH, "No.")).toBe(true);
  expect([field().value, answer()]).toEqual([HASH, "No."]);
  expect(finder.rejected(`0x${"77".repeat(32)}`, "Other.")).toBe(false);
  expect(answer()).toBe("No.");
});

test("chain of the requested token is searched without a choice of networks", () => {
  enter(HASH);
  expect(onFound).toHaveBeenCalledWith({ transaction_hash: HASH, chain_id: HERE });
});
