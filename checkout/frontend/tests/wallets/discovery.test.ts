import { beforeEach, expect, test, vi } from "vitest";
import { Chains } from "../../src/chains";
import { WalletList } from "../../src/page/wallet-list";
import { RecentWallets } from "../../src/wallets/recent";
import { INJECTED, walletFace, type Wallet } from "../../src/wallets/wallet";
import { siblingAmong } from "../../src/wallets/wallets";
import { chain, wallet } from "../fixtures";

const ICON = "data:image/png;base64,AAAA";
const provider = { request: async () => null };

function announce(detail: unknown): void {
  window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
}

function discover(): { list: WalletList; names: () => string[] } {
  const list = new WalletList(new RecentWallets("req_1"), { changed: vi.fn(), returned: vi.fn(), incomplete: vi.fn() });
  list.discover(new Chains([], chain()), "", false, null);
  return { list, names: () => list.all.map(({ name }) => name) };
}

beforeEach(() => {
  vi.useFakeTimers();
  delete (window as { ethereum?: unknown }).ethereum;
});

test("name loses invisible letters and is cut at 40", () => {
  expect(walletFace("a", `Meta\u200bMask\u202e\u2060\ufeff`, "")?.name).toBe("MetaMask");
  expect(walletFace("a", "W".repeat(200), "")?.name).toHaveLength(40);
});

test.each([
  [1, "A"],
  ["a", 2],
  ["a", " \u200b"],
])("wallet with id %j and name %j is left out", (id, name) => {
  expect(walletFace(id, name, ICON)).toBeNull();
});

test.each([
  ["https://tracker.example/icon.png", null],
  ["//icons.example/b.png", null],
  ["javascript:alert(1)", null],
  ["data:text/html,<h1>hello</h1>", null],
  [`${ICON}${"A".repeat(200_000)}`, null],
  [undefined, null],
  [ICON, ICON],
  ["data:image/svg+xml,<svg/>", "data:image/svg+xml,<svg/>"],
])("icon %.40s is kept as %.40s", (icon, kept) => {
  expect(walletFace("a", "A", icon)?.icon).toBe(kept);
});

test("announced wallets are listed once, in their order", () => {
  const { names } = discover();
  for (const name of ["Alpha", "Beta", "Alpha"]) announce({ info: { uuid: name, name, icon: ICON }, provider });
  expect(names()).toEqual(["Alpha", "Beta"]);
});

test("announcement that is no wallet is left out", () => {
  const { names } = discover();
  const odd = [null, 7, {}, { info: null, provider }, { info: { uuid: "a", name: "A" } }, { info: { uuid: "b", name: " " }, provider }];
  odd.forEach(announce);
  expect(names()).toEqual([]);
});

test("wallet of an old browser is listed until one announces itself", () => {
  Object.assign(window, { ethereum: provider });
  const { list, names } = discover();
  expect(names()).toEqual([]);
  vi.advanceTimersByTime(300);
  expect([list.all[0]?.id, list.isSettled]).toEqual([INJECTED, true]);
  announce({ info: { uuid: "late", name: "Late Wallet", icon: "" }, provider });
  expect(names()).toEqual(["Late Wallet"]);
});

const flagged = (...flags: string[]) => ({ request: async () => null, ...Object.fromEntries(flags.map((flag) => [flag, true])) });
const announceAs = (name: string, provider: object): void => announce({ info: { uuid: name, name, icon: "" }, provider });

test("wallet that announces itself late is listed when it appears", () => {
  const { list, names } = discover();
  vi.advanceTimersByTime(60_000);
  expect([names(), list.isSettled]).toEqual([[], true]);
  announceAs("Late Wallet", provider);
  expect(names()).toEqual(["Late Wallet"]);
});

test.each([
  ["with an event", 0],
  ["without an event", 1_000],
])("window.ethereum that comes late %s is listed", (_, waited) => {
  const { list, names } = discover();
  vi.advanceTimersByTime(5_000);
  Object.assign(window, { ethereum: provider });
  if (waited === 0) window.dispatchEvent(new Event("ethereum#initialized"));
  vi.advanceTimersByTime(waited);
  expect([names(), list.all[0]?.id]).toEqual([["Browser wallet"], INJECTED]);
});

test.each([
  ["another wallet", flagged("isOther"), ["Alpha", "Browser wallet"]],
  ["a wallet without flags", flagged(), ["Alpha", "Browser wallet"]],
  ["a wallet that imitates another and says so", flagged("isAlpha", "isOther"), ["Alpha", "Browser wallet"]],
  ["the announced wallet in another object", flagged("isAlpha"), ["Alpha"]],
])("window.ethereum that is %s, beside an announced wallet", (_, ethereum, expected) => {
  Object.assign(window, { ethereum });
  const { names } = discover();
  announceAs("Alpha", flagged("isAlpha"));
  vi.advanceTimersByTime(300);
  expect(names()).toEqual(expected);
});

test("wallet that was used last comes first after a reload", () => {
  const recent = new RecentWallets("req_1");
  recent.connected(wallet({ name: "Beta" }));
  expect(recent.sorted([wallet({ name: "Alpha" }), wallet({ name: "Beta" })]).map(({ name }) => name)).toEqual(["Alpha", "Beta"]);
  const reloaded = new RecentWallets("req_1");
  expect(reloaded.sorted([wallet({ name: "Alpha" }), wallet({ name: "Beta" })]).map(({ name }) => name)).toEqual(["Beta", "Alpha"]);
  expect([reloaded.last?.name, reloaded.connectedHere?.name]).toEqual(["Beta", "Beta"]);
});

test("chosen token is kept with the wallet, for its request alone", () => {
  const recent = new RecentWallets("req_1");
  recent.chose({ chainId: 1 });
  expect(recent.connectedHere).toBeNull();
  recent.connected(wallet());
  recent.chose({ chainId: 1 });
  expect(new RecentWallets("req_1").connectedHere?.choice).toEqual({ chainId: 1 });
  expect(new RecentWallets("req_2").connectedHere).toBeNull();
  recent.connected(null);
  expect(new RecentWallets("req_1").connectedHere).toBeNull();
});

test.each(["{", "7", '{"name": 1}'])("stored wallets %s are ignored", (stored) => {
  localStorage.setItem("quittance:wallets", stored);
  localStorage.setItem("quittance:last-wallet", stored);
  expect(new RecentWallets("req_1").last).toBeNull();
});

test.each([
  ["evm", "Old Wallet"],
  ["solana", null],
])("wallet of %s that was used last is missed as %s", (family, missing) => {
  localStorage.setItem("quittance:last-wallet", JSON.stringify({ name: "Old Wallet", family }));
  const { list } = discover();
  expect(list.missing).toBeNull();
  vi.advanceTimersByTime(300);
  expect(list.missing).toBe(missing);
});

test("sibling is the same wallet on the other family", () => {
  const twin = wallet({ name: "Twin", family: "solana" });
  const listed: Wallet = { ...wallet({ name: "Twin" }), sibling: () => twin };
  expect(siblingAmong([listed], listed)).toBe(twin);
  expect(siblingAmong([listed], twin)).toBe(listed);
  expect(siblingAmong([listed], wallet({ name: "Alone" }))).toBeNull();
});
