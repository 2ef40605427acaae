import { describe, expect, test, vi } from "vitest";
import { copy } from "../../src/copy";
import { approvalNotice, bad, connectionNotice, info, paymentNotice, proofNotice, switchNotice, walletNotice } from "../../src/flow/notices";
import { inTime, refusalOf, understood, WalletError, type Refusal } from "../../src/wallets/refusals";
import { wallet } from "../fixtures";

const error = (code: number | string, message = "", more: object = {}): object => ({ code, message, ...more });
const { notices } = copy;
const STUB = wallet();

test.each<[string, unknown, Refusal]>([
  ["declined", error(4001), "rejected"],
  ["declined, by name", error("ACTION_REJECTED"), "rejected"],
  ["declined, wrapped", error(-32603, "x", { data: { cause: { code: 4001 } } }), "rejected"],
  ["declined, in words alone", error(-32003, "User declined to sign"), "rejected"],
  ["declined, as a text", "User rejected the request.", "rejected"],
  ["locked", error(4100), "unauthorized"],
  ["unsupported", error(4200), "unsupported"],
  ["without the method", error(-32601), "unsupported"],
  ["already asking", error(-32002, "Already processing"), "already_asking"],
  ["without its network", error(4900), "disconnected"],
  ["not on the chain", error(4901), "disconnected"],
  ["unknown network", error(4902), "unknown_chain"],
  ["unknown network in MetaMask's app", error(-32603, "Internal", { data: { originalError: { code: 4902 } } }), "unknown_chain"],
  ["unknown network in the data", error(-32603, "Internal", { data: { code: 4902 } }), "unknown_chain"],
  ["unknown network, deep", error(-32603, "x", { data: { cause: { originalError: { code: 4902 } } } }), "unknown_chain"],
  ["a Ledger that can't show the data", error(-32603, "Ledger device: Invalid data received (0x6a80)"), "data_refused"],
  ["a Ledger without its setting", error(-32000, "Please enable Contract data on the Ethereum app Settings"), "data_refused"],
  [
    "MetaMask, to an account of its own",
    error(-32602, "External transactions to internal accounts cannot include data"),
    "data_refused",
  ],
  ["a Ledger that asks for another setting", error(-32603, "Enable Blind signing in the app"), "data_refused"],
  ["failed otherwise", error(-32603, "nonce too low"), "other"],
  ["no error at all", undefined, "other"],
])("wallet that is %s is understood", (_, thrown, expected) => {
  expect(understood(thrown).refusal).toBe(expected);
});

test("wallet's own words are kept, shortened", () => {
  expect(understood(error(-32603, "x".repeat(900))).detail).toHaveLength(200);
  expect(understood("The vault is on fire").detail).toBe("The vault is on fire");
});

test("error that contains itself is understood", () => {
  const loop: Record<string, unknown> = { message: "round" };
  loop.cause = loop;
  expect(understood(loop).refusal).toBe("other");
});

test("understood error of another script keeps its refusal", () => {
  class Other extends Error {
    refusal = "silent";
  }
  expect(refusalOf(understood(new Other()))).toBe("silent");
});

test("call without a prompt times out after ten seconds", async () => {
  vi.useFakeTimers();
  const late = inTime(new Promise(() => undefined)).catch(refusalOf);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await late).toBe("silent");
  expect(await inTime(Promise.resolve(7))).toBe(7);
});

describe("notice", () => {
  const of = (refusal: Refusal, detail = ""): WalletError => new WalletError(refusal, detail);
  const shown = "Wallet message: nonce too low";

  test.each<[Refusal, object]>([
    ["unauthorized", bad(notices.unauthorized)],
    ["already_asking", info(notices.alreadyAsking(STUB.name))],
    ["disconnected", bad(notices.disconnected)],
    ["incomplete", bad(notices.pageIncomplete)],
    ["silent", bad(notices.silent(STUB.name))],
  ])("%s is the same at each prompt", (refusal, notice) => {
    for (const noticeOf of [walletNotice, connectionNotice, approvalNotice, proofNotice, paymentNotice]) {
      expect(noticeOf(of(refusal), STUB)).toEqual(notice);
    }
    expect(switchNotice(of(refusal), STUB, "Local Chain", 1)).toEqual(notice);
  });

  test("declined prompt says what was declined", () => {
    expect(connectionNotice(of("rejected"), STUB)).toEqual(info(notices.rejectedConnection));
    expect(approvalNotice(of("rejected"), STUB)).toEqual(info(notices.rejectedApproval));
    expect(proofNotice(of("rejected"), STUB)).toEqual(info(notices.rejectedProof));
    expect(paymentNotice(of("rejected"), STUB)).toEqual(info(notices.rejectedPayment));
    expect(switchNotice(of("rejected"), STUB, "Local Chain", 1)).toEqual(info(notices.rejectedSwitch("Local Chain")));
  });

  test("wallet that lacks a method says which one", () => {
    expect(connectionNotice(of("unsupported"), STUB)).toEqual(bad(notices.cannotSend(STUB.name)));
    expect(paymentNotice(of("unsupported"), STUB)).toEqual(bad(notices.cannotSend(STUB.name)));
    expect(proofNotice(of("unsupported"), STUB)).toEqual(bad(notices.cannotProve(STUB.name)));
  });

  test("unknown failure of a payment warns that it may be sent", () => {
    expect(paymentNotice(of("other", "nonce too low"), STUB)).toEqual(bad(`${notices.maybeSent} ${shown}`));
    expect(paymentNotice(of("other"), STUB)).toEqual(bad(notices.maybeSent));
  });

  test("unknown failure elsewhere shows the wallet's words", () => {
    expect(connectionNotice(of("other", "nonce too low"), STUB)).toEqual(bad(`${notices.walletFailed} ${shown}`));
  });

  test.each<Refusal>(["unknown_chain", "unsupported", "other"])("network that can't be added (%s) is described", (refusal) => {
    expect(switchNotice(of(refusal), STUB, "Local Chain", 31337)).toEqual(bad(notices.addNetwork("Local Chain", 31337)));
  });
});
