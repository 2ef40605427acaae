import { expect, test, vi } from "vitest";
import type { Chain } from "../../src/server/types";
import { ethereumWallet, type Provider } from "../../src/wallets/ethereum";
import { refusalOf } from "../../src/wallets/refusals";
import type { Wallet, WalletChanges } from "../../src/wallets/wallet";
import { chain, HASH, HERE, PAYER, STRANGER } from "../fixtures";

type Answer = (params: unknown) => unknown;

function scripted(answers: Record<string, Answer>): { wallet: Wallet; asked: [string, unknown][]; provider: Provider } {
  const asked: [string, unknown][] = [];
  const provider: Provider = {
    async request({ method, params }) {
      asked.push([method, params]);
      return answers[method]?.(params);
    },
  };
  return { wallet: ethereumWallet({ id: "stub", name: "Stub", icon: null }, provider), asked, provider };
}

const failing = (error: unknown): Answer => () => {
  throw error;
};
const errorOf = (call: Promise<unknown>): Promise<string> => call.then(() => "none", refusalOf);
const PUBLIC: Chain = chain({ wallet_rpc_url: "https://rpc.example" });

test.each([[[]], [null], ["0x12"], [["javascript:alert(1)"]], [[7]]])("accounts %j are none", async (accounts) => {
  const { wallet } = scripted({ eth_requestAccounts: () => accounts, eth_accounts: () => accounts });
  expect(await errorOf(wallet.connect())).toBe("unauthorized");
  expect(await wallet.accounts()).toEqual([]);
});

test("first account is the one that pays", async () => {
  const { wallet } = scripted({ eth_requestAccounts: () => ["no address", PAYER, STRANGER] });
  expect(await wallet.connect()).toBe(PAYER);
});

test("known network is switched to without adding it", async () => {
  const { wallet, asked } = scripted({ eth_chainId: () => "0x7a69" });
  expect(await wallet.switchTo(HERE, PUBLIC)).toBe(HERE);
  expect(asked.map(([method]) => method)).toEqual(["wallet_switchEthereumChain", "eth_chainId"]);
});

function withoutNetwork(error: unknown, changesToAdded: boolean): ReturnType<typeof scripted> {
  let [now, isAdded] = ["0x1", false];
  return scripted({
    eth_chainId: () => now,
    wallet_addEthereumChain: () => {
      isAdded = true;
      if (changesToAdded) now = "0x7a69";
    },
    wallet_switchEthereumChain: () => {
      if (!isAdded) throw error;
      now = "0x7a69";
    },
  });
}

test.each([
  { code: 4902 },
  { code: -32603, message: "Internal", data: { originalError: { code: 4902 } } },
  { code: -32603, message: "Unrecognized chain ID 0x7a69" },
  { code: 4200 },
])("unknown network is added after %j, then switched to", async (error) => {
  const { wallet, asked } = withoutNetwork(error, false);
  expect(await wallet.switchTo(HERE, PUBLIC)).toBe(HERE);
  const [, added] = asked.find(([method]) => method === "wallet_addEthereumChain") ?? [];
  expect(added).toEqual([
    {
      chainId: "0x7a69",
      chainName: "Local Chain",
      nativeCurrency: { name: "ETH", symbol: "ETH", decimals: 18 },
      rpcUrls: ["https://rpc.example"],
      blockExplorerUrls: ["https://scan.example/"],
    },
  ]);
  expect(asked.filter(([method]) => method === "wallet_switchEthereumChain")).toHaveLength(2);
});

test("wallet that switches to an added network is asked once", async () => {
  const { wallet, asked } = withoutNetwork({ code: 4902 }, true);
  expect(await wallet.switchTo(HERE, PUBLIC)).toBe(HERE);
  expect(asked.filter(([method]) => method === "wallet_switchEthereumChain")).toHaveLength(1);
});

test("network without a public node isn't added", async () => {
  const { wallet, asked } = withoutNetwork({ code: 4902 }, true);
  expect(await errorOf(wallet.switchTo(HERE, chain()))).toBe("unknown_chain");
  expect(asked.map(([method]) => method)).toEqual(["wallet_switchEthereumChain"]);
});

test("declined switch adds nothing", async () => {
  const { wallet, asked } = withoutNetwork({ code: 4001 }, true);
  expect(await errorOf(wallet.switchTo(HERE, PUBLIC))).toBe("rejected");
  expect(asked.map(([method]) => method)).toEqual(["wallet_switchEthereumChain"]);
});

test("wallet that says it switched and didn't returns its network", async () => {
  vi.useFakeTimers();
  const { wallet } = scripted({ eth_chainId: () => "0x1" });
  const reached = wallet.switchTo(HERE, PUBLIC);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await reached).toBe(1);
});

test.each(["yes", null, "0x12", 7])("response %j to a payment is no hash", async (answer) => {
  const { wallet } = scripted({ eth_sendTransaction: () => answer });
  expect(await errorOf(wallet.send(PAYER, { chainId: "0x1", from: PAYER, to: STRANGER }))).toBe("other");
});

test("transaction is sent without its empty fields", async () => {
  const { wallet, asked } = scripted({ eth_sendTransaction: () => HASH });
  const transaction = { chainId: "0x1", from: PAYER, to: STRANGER, gas: null as unknown as string };
  expect(await wallet.send(PAYER, transaction)).toBe(HASH);
  expect(asked[0]?.[1]).toEqual([{ chainId: "0x1", from: PAYER, to: STRANGER }]);
});

test("text to sign is sent as the bytes of its UTF-8", async () => {
  const { wallet, asked } = scripted({ personal_sign: () => `0x${"11".repeat(65)}` });
  await wallet.sign(PAYER, "Zoë");
  expect(asked[0]).toEqual(["personal_sign", ["0x5a6fc3ab", PAYER]]);
});

test("receipt says whether the transaction succeeded", async () => {
  const receipts: unknown[] = [null, { status: "0x1" }, { status: "0x0" }];
  const { wallet } = scripted({ eth_getTransactionReceipt: () => receipts.shift() });
  expect([await wallet.outcome?.(HASH), await wallet.outcome?.(HASH), await wallet.outcome?.(HASH)]).toEqual([null, true, false]);
});

test("wallet that doesn't respond is silent", async () => {
  vi.useFakeTimers();
  const { wallet } = scripted({ eth_accounts: () => new Promise(() => undefined) });
  const late = errorOf(wallet.accounts() as Promise<unknown>);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await late).toBe("silent");
});

test("changes in the wallet are reported until it is left", () => {
  const listeners = new Map<string, (value: unknown) => void>();
  const { provider } = scripted({});
  provider.on = (event, listener) => listeners.set(event, listener);
  provider.removeListener = (event) => listeners.delete(event);
  const changes: WalletChanges = { account: vi.fn(), chain: vi.fn(), offline: vi.fn() };
  const stop = ethereumWallet({ id: "stub", name: "Stub", icon: null }, provider).watch(changes);
  listeners.get("accountsChanged")?.([PAYER]);
  listeners.get("accountsChanged")?.([]);
  listeners.get("chainChanged")?.("0x7a69");
  listeners.get("disconnect")?.({ code: 1013 });
  expect(changes.account).toHaveBeenNthCalledWith(1, PAYER);
  expect(changes.account).toHaveBeenNthCalledWith(2, null);
  expect(changes.chain).toHaveBeenCalledWith(HERE);
  expect(changes.offline).toHaveBeenCalledTimes(1);
  stop();
  expect(listeners.size).toBe(0);
});

test("errors of the wallet become refusals", async () => {
  const { wallet } = scripted({ personal_sign: failing({ code: 4001 }) });
  expect(await errorOf(wallet.sign(PAYER, "x"))).toBe("rejected");
});
