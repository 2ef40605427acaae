import { expect, test } from "vitest";
import { Signers } from "../../src/page/signers";
import { ApiError } from "../../src/server/api";

test("a signature gets the server's response once", async () => {
  const signers = new Signers();
  const response = signers.wait("a");
  const error = new ApiError(409, "sponsoring_unavailable", "Not possible now.", null);
  expect(signers.settle("a", error)).toBe(true);
  expect(await response).toBe(error);
  expect(signers.settle("a", null)).toBe(false);
});

test("what another tab submitted is settled, and the open signature waits", async () => {
  const signers = new Signers();
  const submitted = signers.wait("a");
  void signers.wait("b");
  signers.settleOthers("b");
  expect(await submitted).toBeNull();
  expect(signers.settle("a", null)).toBe(false);
  expect(signers.settle("b", null)).toBe(true);
});
