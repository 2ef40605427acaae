import { beforeEach, expect, test, vi } from "vitest";
import { safeBatch } from "../../src/sweeps/files";
import { SweepList } from "../../src/sweeps/sweep-list";
import { WalletError } from "../../src/wallets/refusals";
import { chain, wallet } from "../fixtures";

const ACCOUNT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const UNSIGNED = [1, 2].map((number) => ({ to: "0xFactory", data: `0x0${number}`, value: "0x0" }));
const HASHES = ["a", "b"].map((digit) => `0x${digit.repeat(64)}`);

function list(): { sweeps: SweepList; root: HTMLElement; busy: boolean[] } {
  const root = document.createElement("li");
  root.innerHTML = `<ol><li><span class="q-sweep-state"></span></li><li><span class="q-sweep-state"></span></li></ol>
    <div class="q-sweep-wallets"></div><p class="q-sweep-note"></p><div class="q-sweep-files"></div><pre></pre>`;
  root.querySelector("pre")!.textContent = JSON.stringify(UNSIGNED);
  const busy: boolean[] = [];
  const sweeps: SweepList = new SweepList(root, chain({ explorer_url: "https://scan.example/" }), (now) => {
    busy.push(now);
    sweeps.setBusy(now);
  });
  return { sweeps, root, busy };
}

const states = (root: HTMLElement): (string | null)[] => [...root.querySelectorAll(".q-sweep-state")].map((each) => each.textContent);
const note = (root: HTMLElement): string | null => root.querySelector(".q-sweep-note")!.textContent;
const buttons = (root: HTMLElement): HTMLButtonElement[] => [...root.querySelectorAll<HTMLButtonElement>(".q-sweep-wallets button")];

function signer(...answers: (string | Error)[]) {
  const send = vi.fn(async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer ?? "";
  });
  return { send, wallet: wallet({ name: "Stub", connect: async () => ACCOUNT, switchTo: async (id) => id, send, outcome: async () => true }) };
}

beforeEach(() => {
  vi.useFakeTimers();
});

test("transactions are sent one after the other, without a gas limit", async () => {
  const { sweeps, root, busy } = list();
  const { send, wallet: stub } = signer(...HASHES);
  sweeps.offer([stub], true);
  await sweeps.sweep(stub);
  const chainId = `0x${chain().id.toString(16)}`;
  expect(send.mock.calls).toEqual(UNSIGNED.map((each) => [ACCOUNT, { ...each, from: ACCOUNT, chainId }]));
  expect(states(root)).toEqual(HASHES.map((hash) => `Sent, not mined yet. ${hash.slice(0, 10)}…`));
  expect(root.querySelector("a")!.href).toBe(`https://scan.example/tx/${HASHES[0]}`);
  expect(busy).toEqual([true, false]);
  expect(buttons(root).map((each) => each.disabled)).toEqual([true]);
});

test("mined transactions lead to reloading the page", async () => {
  const { sweeps, root } = list();
  const { wallet: stub } = signer(...HASHES);
  await sweeps.sweep(stub);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(states(root)).toEqual(HASHES.map((hash) => `Mined. ${hash.slice(0, 10)}…`));
  expect(note(root)).toBe("All transactions are mined. Reload the page to see what still waits.");
});

test("reverted transaction is not reported as mined", async () => {
  const { sweeps, root } = list();
  const { wallet: stub } = signer(...HASHES);
  await sweeps.sweep({ ...stub, outcome: async (hash) => hash !== HASHES[1] });
  await vi.advanceTimersByTimeAsync(3_000);
  expect(states(root)[1]).toContain("Reverted: nothing was moved.");
  expect(note(root)).toBe("");
});

test("rejection stops, and the next click continues there", async () => {
  const { sweeps, root } = list();
  const { send, wallet: stub } = signer(HASHES[0]!, new WalletError("rejected", ""), HASHES[1]!);
  sweeps.offer([stub], true);
  await sweeps.sweep(stub);
  expect(states(root)[1]).toBe("Not sent.");
  expect(note(root)).toBe("You rejected it in Stub. Nothing more was sent.");
  expect(buttons(root)[0]!.disabled).toBe(false);
  await sweeps.sweep(stub);
  expect(send).toHaveBeenCalledTimes(3);
  expect(send.mock.lastCall).toEqual([ACCOUNT, expect.objectContaining(UNSIGNED[1]!)]);
});

test("wallet on another network sends nothing", async () => {
  const { sweeps, root } = list();
  const { send, wallet: stub } = signer(...HASHES);
  await sweeps.sweep({ ...stub, switchTo: async () => 1 });
  expect(send).not.toHaveBeenCalled();
  expect(note(root)).toContain("Switch Stub to");
});

test("open prompt lets no second one start", async () => {
  const { sweeps } = list();
  const { send, wallet: stub } = signer(...HASHES);
  sweeps.setBusy(true);
  await sweeps.sweep(stub);
  expect(send).not.toHaveBeenCalled();
});

test("browser without a wallet is pointed to the files", () => {
  const { sweeps, root } = list();
  sweeps.offer([], false);
  expect(note(root)).toBe("");
  sweeps.offer([], true);
  expect(note(root)).toContain("This browser has no wallet.");
  expect([...root.querySelectorAll(".q-sweep-files button")].map((each) => each.textContent)).toEqual(["Download JSON", "Download for a Safe"]);
});

test("file for a Safe has decimal values and the chain as text", () => {
  expect(safeBatch([{ to: "0xTo", data: "0x01", value: "0x10" }], 8453, 7)).toEqual({
    version: "1.0",
    chainId: "8453",
    createdAt: 7,
    meta: { name: "Sweep deposit addresses", description: "" },
    transactions: [{ to: "0xTo", value: "16", data: "0x01" }],
  });
});
