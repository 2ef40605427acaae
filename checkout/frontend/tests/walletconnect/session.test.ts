import { beforeEach, expect, test, vi } from "vitest";
import type { Client } from "../../src/walletconnect/client";
import { caipOf, namespaces, networksOf } from "../../src/walletconnect/caip";
import { evmProvider } from "../../src/walletconnect/evm";
import { Session } from "../../src/walletconnect/session";
import { registered } from "../../src/walletconnect/solana";
import { solanaWallet } from "../../src/solana/main";
import { refusalOf, understood } from "../../src/wallets/refusals";
import { chain, farChain, PAYER, RECIPIENT, solana } from "../fixtures";

const HERE = "eip155:31337";
const ADDRESS = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9";
const ALL = ["eth_sendTransaction", "personal_sign"];

/** A client with one session. The test scripts the wallet's responses. */
class Wallet {
  readonly listeners = new Map<string, (event: object) => void>();
  readonly request = vi.fn<(asked: object) => Promise<unknown>>(async () => null);
  readonly disconnect = vi.fn(async () => undefined);
  readonly session: Session;

  constructor(private allowed: Record<string, { accounts: string[]; methods: string[] }>) {
    const { request, disconnect, listeners } = this;
    const client = {
      request,
      disconnect,
      on: (name: string, listener: (event: object) => void) => listeners.set(name, listener),
      session: { keys: ["topic"], get: () => ({ namespaces: this.allowed, peer: { metadata: { name: "MetaMask Wallet" } } }) },
    };
    this.session = new Session(client as unknown as Client, "topic");
  }

  say(event: string, more: object = {}, topic = "topic"): void {
    this.listeners.get(event)?.({ topic, ...more });
  }

  allow(allowed: Record<string, { accounts: string[]; methods: string[] }>): void {
    this.allowed = allowed;
    this.say("session_update");
  }
}

const evm = (...accounts: string[]) => ({ eip155: { accounts, methods: ALL } });
const both = evm(`${HERE}:${PAYER}`, `${HERE}:${RECIPIENT}`);
const chose = (data: unknown) => ({ params: { event: { name: "accountsChanged", data } } });
let wallet = new Wallet(both);

beforeEach(() => {
  wallet = new Wallet(both);
});

test("networks have the names that wallets know", () => {
  expect([caipOf(chain()), caipOf(solana)]).toEqual([HERE, "solana:localnet"]);
  expect(caipOf({ ...solana, network: "" })).toBe("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp");
  expect([caipOf({ ...solana, network: "other" }), caipOf(chain({ chain_type: "cosmos" }))]).toEqual([null, null]);
});

test("session requests the payment's networks and its methods there", () => {
  expect(namespaces([chain(), farChain, solana, chain({ chain_type: "cosmos" })])).toEqual({
    eip155: {
      chains: [HERE, "eip155:777"],
      methods: ["eth_sendTransaction", "personal_sign", "eth_signTypedData_v4", "wallet_switchEthereumChain", "wallet_addEthereumChain"],
      events: ["accountsChanged", "chainChanged"],
    },
    solana: { chains: ["solana:localnet"], methods: [SEND, SIGN, "solana_signMessage"], events: ["accountsChanged"] },
  });
});

test("networks of a session are those with an account", () => {
  expect(networksOf({ namespaces: evm(`${HERE}:${PAYER}`, `eip155:1:${PAYER}`, `${HERE}:${RECIPIENT}`) }, "eip155")).toEqual([HERE, "eip155:1"]);
});

test.each<[string, unknown, string]>([
  ["WalletConnect's code", { code: 5000, message: "User rejected." }, "rejected"],
  ["Ethereum's code", { code: 4001 }, "rejected"],
  ["words alone", { code: -32000, message: "User rejected the transaction" }, "rejected"],
  ["words about its owner", { code: -32000, message: "rejected by the user" }, "rejected"],
  ["an unknown network", { code: 5100 }, "unknown_chain"],
  ["an unknown method", { code: 5101 }, "unsupported"],
  ["a locked wallet", { code: 3001 }, "unauthorized"],
  ["a session that is gone", { code: 6000 }, "disconnected"],
  ["another reason", { code: -32000, message: "nonce too low" }, "other"],
])("refusal by %s is understood", async (_, error, refusal) => {
  wallet.request.mockRejectedValue(error);
  const thrown: unknown = await wallet.session.request(HERE, "eth_sendTransaction", []).catch((one: unknown) => one);
  expect(refusalOf(understood(thrown))).toBe(refusal);
});

test("method that the wallet didn't allow is not requested", async () => {
  await expect(wallet.session.request(HERE, "eth_signTypedData", [])).rejects.toEqual({ code: 4200 });
  expect(wallet.request).not.toHaveBeenCalled();
});

test.each(["session_delete", "session_expire"])("%s ends open requests and the accounts", async (event) => {
  wallet.request.mockReturnValue(new Promise(() => undefined));
  const asked = wallet.session.request(HERE, "eth_sendTransaction", []);
  wallet.say(event, {}, "another");
  wallet.say(event);
  await expect(asked).rejects.toEqual({ code: 4900, message: "" });
  expect(wallet.session.addresses(HERE)).toEqual([]);
  await expect(wallet.session.request(HERE, "eth_sendTransaction", [])).rejects.toEqual({ code: 4900 });
});

test("left session ends after its open prompt is answered", async () => {
  let answer = (_: unknown): void => undefined;
  wallet.request.mockReturnValue(new Promise((resolve) => (answer = resolve)));
  const asked = wallet.session.request(HERE, "eth_sendTransaction", []);
  const ended = wallet.session.end();
  await Promise.resolve();
  expect(wallet.disconnect).not.toHaveBeenCalled();
  answer("0x1");
  await ended;
  expect(await asked).toBe("0x1");
  expect(wallet.disconnect).toHaveBeenCalledTimes(1);
});

test.each([[[RECIPIENT]], [[`${HERE}:${RECIPIENT.toLowerCase()}`]]])("account %s that the wallet selects comes first", (data) => {
  const listener = vi.fn();
  evmProvider(wallet.session, [HERE]).on?.("accountsChanged", listener);
  wallet.say("session_event", chose(data));
  expect(listener).toHaveBeenCalledWith([RECIPIENT, PAYER]);
  wallet.say("session_event", chose(7));
  expect(wallet.session.addresses(HERE)).toEqual([PAYER, RECIPIENT]);
});

test("account that the wallet takes back is gone", () => {
  const listener = vi.fn();
  const provider = evmProvider(wallet.session, [HERE]);
  provider.on?.("accountsChanged", listener);
  wallet.allow(evm(`${HERE}:${RECIPIENT}`));
  expect(listener).toHaveBeenCalledWith([RECIPIENT]);
  provider.removeListener?.("accountsChanged", listener);
  wallet.allow(both);
  expect(listener).toHaveBeenCalledTimes(1);
});

const SWITCH = { method: "wallet_switchEthereumChain", params: [{ chainId: "0x7a69" }] };

test("network with an account is switched to without the wallet", async () => {
  const provider = evmProvider(new Wallet(evm(`eip155:1:${PAYER}`, `${HERE}:${PAYER}`)).session, ["eip155:1", HERE]);
  expect(await provider.request({ method: "eth_chainId" })).toBe("0x1");
  await provider.request(SWITCH);
  expect(await provider.request({ method: "eth_chainId" })).toBe("0x7a69");
});

test("wallet that can't switch networks lacks this one", async () => {
  const elsewhere = new Wallet(evm(`eip155:1:${PAYER}`));
  await expect(evmProvider(elsewhere.session, [HERE]).request(SWITCH)).rejects.toEqual({ code: 4902 });
  expect(elsewhere.request).not.toHaveBeenCalled();
});

test("wallet that can switch networks is asked to, and waited for", async () => {
  vi.useFakeTimers();
  const methods = [...ALL, SWITCH.method];
  const elsewhere = new Wallet({ eip155: { accounts: [`eip155:1:${PAYER}`], methods } });
  const provider = evmProvider(elsewhere.session, [HERE]);
  const late = provider.request(SWITCH).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await late).toEqual({ code: 4902 });
  const switched = provider.request(SWITCH);
  await vi.advanceTimersByTimeAsync(0);
  elsewhere.allow({ eip155: { accounts: [`eip155:1:${PAYER}`, `${HERE}:${PAYER}`], methods } });
  expect(await switched).toBeNull();
  expect(await provider.request({ method: "eth_accounts" })).toEqual([PAYER]);
});

const SEND = "solana_signAndSendTransaction";
const SIGN = "solana_signTransaction";

function onSolana(methods: string[]): { phone: Wallet; pay: ReturnType<typeof solanaWallet> } {
  const phone = new Wallet({ solana: { accounts: [`solana:localnet:${ADDRESS}`], methods } });
  const networks = new Map([["solana:localnet", "solana:localnet"]]);
  return { phone, pay: solanaWallet(registered(phone.session, networks, "WalletConnect"), [solana]) };
}

test("Solana wallet that only signs can't be connected", async () => {
  const { pay } = onSolana(["solana_signTransaction"]);
  expect(await pay!.connect().catch(refusalOf)).toBe("unsupported");
});

test.each([{ signature: "0x12" }, {}, null])("response %j from a Solana wallet is no signature", async (answer) => {
  const { phone, pay } = onSolana([SEND]);
  phone.request.mockResolvedValue(answer);
  await pay!.connect();
  expect(await pay!.send(ADDRESS, btoa("abc")).catch(refusalOf)).toBe("other");
});

test("Solana transaction is requested in base64, with its account", async () => {
  const { phone, pay } = onSolana([SEND]);
  phone.request.mockResolvedValue({ signature: "1".repeat(64) });
  await pay!.connect();
  expect(await pay!.send(ADDRESS, btoa("abc"))).toBe("1".repeat(64));
  const params = { transaction: btoa("abc"), pubkey: ADDRESS };
  expect(phone.request).toHaveBeenCalledWith({ topic: "topic", chainId: "solana:localnet", request: { method: SEND, params } });
});

test("open request has an id until it is answered", async () => {
  let answer = (_: unknown): void => undefined;
  wallet.request.mockReturnValueOnce(new Promise((resolve) => (answer = resolve)));
  const changed = vi.fn();
  wallet.session.onChange(changed);
  const answered = wallet.session.request(HERE, "personal_sign", []);
  wallet.say("session_request_sent", { id: 7 }, "other");
  expect([wallet.session.requestId, changed.mock.calls.length]).toEqual([null, 0]);
  wallet.say("session_request_sent", { id: 8 });
  expect([wallet.session.requestId, changed.mock.calls.length, wallet.session.peerName]).toEqual([8, 1, "MetaMask Wallet"]);
  answer("0x1b");
  await answered;
  expect(wallet.session.requestId).toBeNull();
});

test.each<[string, object]>([
  ["its signature", { signature: `${"1".repeat(63)}2` }],
  ["the signed transaction", { signature: "", transaction: btoa("signed") }],
])("Solana wallet signs for another account and returns %s", async (_, answer) => {
  const { phone, pay } = onSolana([SEND, SIGN]);
  phone.request.mockResolvedValue(answer);
  await pay!.connect();
  const built = btoa(`\x02${"\0".repeat(128)}message`);
  const { transaction } = (await pay!.authorize!(ADDRESS, built)) as { transaction: string };
  if ("transaction" in answer) return expect(transaction).toBe(answer.transaction);
  const bytes = atob(transaction);
  expect([bytes.slice(0, 65), bytes.slice(129)]).toEqual([`\x02${"\0".repeat(64)}`, "message"]);
  expect(bytes.slice(65, 129)).not.toBe("\0".repeat(64));
});

test("Solana session that doesn't allow it signs for no other account", () => {
  expect(onSolana([SEND]).pay!.authorize).toBeUndefined();
});
