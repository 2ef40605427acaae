import { expect, test, vi } from "vitest";
import { solanaWallet } from "../../src/solana/main";
import { refusalOf, refused } from "../../src/wallets/refusals";
import type { Wallet } from "../../src/wallets/wallet";
import { solana } from "../fixtures";

const ADDRESS = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9";
const OTHER = "9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu";
const account = (address: string, ...chains: string[]) => ({ address, chains });
const HERE = account(ADDRESS, "solana:localnet");

interface Plan {
  connect?: () => unknown;
  send?: (input: never) => unknown;
  sign?: (input: never) => unknown;
  signTransaction?: (input: never) => unknown;
  without?: string[];
  clusters?: string[];
}

function registered({ connect = () => ({ accounts: [HERE] }), send, sign, signTransaction, without = [], clusters = ["solana:localnet"] }: Plan = {}): object {
  const features: Record<string, object> = {
    "standard:connect": { connect },
    "standard:events": { on: (_: string, listener: unknown) => Object.assign(events, { listener }) && (() => (events.listener = null)) },
    "solana:signAndSendTransaction": { signAndSendTransaction: send },
    "solana:signTransaction": signTransaction ? { signTransaction } : {},
    "solana:signMessage": { signMessage: sign },
  };
  for (const name of without) delete features[name];
  return { name: "Stub", icon: "", chains: clusters, features };
}

const events: { listener: ((change: object) => void) | null } = { listener: null };
const adapted = (plan?: Plan): Wallet => solanaWallet(registered(plan), [solana])!;
const throwing = (error: unknown) => () => {
  throw error;
};
const refusalIn = (call: Promise<unknown>): Promise<string> => call.then(() => "none", refusalOf);

async function connected(plan: Plan): Promise<Wallet> {
  const wallet = adapted(plan);
  await wallet.connect();
  return wallet;
}

test.each<[string, Plan]>([
  ["another cluster", { clusters: ["solana:mainnet"] }],
  ["no way to connect", { without: ["standard:connect"] }],
  ["no way to sign", { without: ["solana:signAndSendTransaction", "solana:signTransaction"] }],
])("wallet with %s is not offered", (_, plan) => {
  expect(solanaWallet(registered(plan), [solana])).toBeNull();
});

test.each([null, 7, {}, { chains: ["solana:localnet"] }])("registration %j is no wallet", (value) => {
  expect(solanaWallet(value, [solana])).toBeNull();
});

test.each<[string, unknown, string]>([
  ["a locked wallet", { accounts: [] }, "unauthorized"],
  ["nothing at all", undefined, "unauthorized"],
  ["no address", { accounts: [account("<b>me</b>", "solana:localnet")] }, "unauthorized"],
  ["an account of another cluster", { accounts: [account(OTHER, "solana:mainnet")] }, "unauthorized"],
])("connection that gives %s is refused", async (_, answer, refusal) => {
  expect(await refusalIn(adapted({ connect: () => answer }).connect())).toBe(refusal);
});

test("wallet that only signs can't be connected", async () => {
  expect(await refusalIn(adapted({ without: ["solana:signAndSendTransaction"] }).connect())).toBe("unsupported");
});

test("reload connects without a prompt", async () => {
  const connect = vi.fn(() => ({ accounts: [HERE] }));
  expect(await adapted({ connect }).accounts()).toEqual([ADDRESS]);
  expect(connect).toHaveBeenCalledWith({ silent: true });
});

test.each<[string, unknown, string]>([
  ["declined", { code: 4001 }, "rejected"],
  ["declined, in words alone", { code: -32003, message: "User declined to sign" }, "rejected"],
  ["declined, as a text", "User rejected the request.", "rejected"],
  ["without its network", { code: 4900 }, "disconnected"],
  ["locked", { code: 4100 }, "unauthorized"],
  ["already asking", { code: -32002, message: "Request already pending" }, "already_asking"],
  ["failing in the simulation", { code: -32002, message: "Transaction simulation failed: x" }, "other"],
  ["too late for its blockhash", { code: -32002, message: "Blockhash not found" }, "other"],
])("wallet that is %s is understood", async (_, error, refusal) => {
  const wallet = await connected({ send: throwing(error) });
  expect(await refusalIn(wallet.send(ADDRESS, ""))).toBe(refusal);
});

test.each([[[]], [[{ signature: "x" }]], [[{ signature: new Uint8Array(63) }]], [null]])("response %j is no signature", async (answer) => {
  const wallet = await connected({ send: () => answer });
  expect(await refusalIn(wallet.send(ADDRESS, ""))).toBe("other");
});

test("transaction is sent from the account, on the payment's cluster", async () => {
  const send = vi.fn(() => [{ signature: new Uint8Array(64).fill(7) }]);
  const wallet = await connected({ send });
  expect(await wallet.send(ADDRESS, btoa("abc"))).toMatch(/^[1-9A-HJ-NP-Za-km-z]{86,88}$/);
  expect(send).toHaveBeenCalledWith({ account: HERE, chain: "solana:localnet", transaction: Uint8Array.of(97, 98, 99) });
  expect(await refusalIn(wallet.send(OTHER, ""))).toBe("unauthorized");
});

test("wallet without texts to sign says so", async () => {
  const wallet = await connected({ without: ["solana:signMessage"] });
  expect(await refusalIn(wallet.sign(ADDRESS, "x"))).toBe("unsupported");
});

test("wallet's own words are kept", async () => {
  const wallet = adapted({ connect: throwing("The vault is on fire") });
  expect(refused(await wallet.connect().catch((error: unknown) => error))?.detail).toBe("The vault is on fire");
});

test("changed account is reported until the wallet is left", async () => {
  const wallet = await connected({});
  const changes = { account: vi.fn(), chain: vi.fn(), offline: vi.fn() };
  const stop = wallet.watch(changes);
  events.listener?.({ accounts: [account(OTHER, "solana:localnet")] });
  events.listener?.({ accounts: [] });
  expect(changes.account.mock.calls).toEqual([[OTHER], [null]]);
  stop();
  expect(events.listener).toBeNull();
});

test("wallet without events works", () => {
  expect(() => adapted({ without: ["standard:events"] }).watch({ account: vi.fn(), chain: vi.fn(), offline: vi.fn() })()).not.toThrow();
});

test("wallet signs a transaction that another account sends", async () => {
  const signTransaction = vi.fn(() => [{ signedTransaction: Uint8Array.of(2, 7) }]);
  const wallet = await connected({ signTransaction });
  expect(await wallet.authorize?.(ADDRESS, btoa("\x02\x00"))).toEqual({ transaction: btoa("\x02\x07") });
  expect(signTransaction).toHaveBeenCalledWith({ account: HERE, chain: "solana:localnet", transaction: Uint8Array.of(2, 0) });
});

test("wallet that returns no transaction has not signed", async () => {
  const wallet = await connected({ signTransaction: () => [{}] });
  expect(await refusalIn(wallet.authorize!(ADDRESS, ""))).toBe("other");
});

test("wallet without the method signs no transaction for another account", () => {
  expect([adapted().authorize, adapted({ without: ["solana:signTransaction"] }).authorize]).toEqual([undefined, undefined]);
});
