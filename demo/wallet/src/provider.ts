import { hexToString, isHex, numberToHex, serializeTransaction, type Address, type Hex } from "viem";
import { privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { Batches } from "./batches";
import { summariseAuthorization } from "./authorization";
import type { Config } from "./config";
import { chainDisconnected, invalidParams, unauthorized, unknownChain, unsupported } from "./errors";
import { ask, type Chain } from "./node";
import { prepare, summarise, type AskedTransaction } from "./transaction";
import { confirm } from "./window";

type Listener = (...values: unknown[]) => void;

export interface RequestArguments {
  method: string;
  params?: unknown;
}

const PASSED_ON = new Set([
  "eth_blockNumber",
  "eth_call",
  "eth_estimateGas",
  "eth_feeHistory",
  "eth_gasPrice",
  "eth_getBalance",
  "eth_getBlockByNumber",
  "eth_getCode",
  "eth_getTransactionByHash",
  "eth_getTransactionCount",
  "eth_getTransactionReceipt",
  "eth_maxPriorityFeePerGas",
  "eth_sendRawTransaction",
]);

// The wallet stores these values separately for each site, as browser wallets do.
const CONNECTED = "demo-wallet:connected";
const CHAIN = "demo-wallet:chain-id";

/** The wallet's interface for pages: EIP-1193, with one account. */
export class DemoWalletProvider {
  readonly isDemoWallet = true;

  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #ready: Promise<void>;
  readonly #chains = new Map<number, Chain>([
    [1, { id: 1, name: "Ethereum", nativeSymbol: "ETH", rpcUrl: null }],
  ]);
  #account!: PrivateKeyAccount;
  #chain!: Chain;
  #batches!: Batches;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(config: Promise<Config>) {
    this.#ready = config.then(({ privateKey, chains, delegate }) => {
      this.#account = privateKeyToAccount(privateKey);
      this.#batches = new Batches(this.#account, delegate);
      for (const chain of chains) this.#chains.set(chain.id, chain);
      this.#chain = this.#chains.get(Number(localStorage.getItem(CHAIN))) ?? chains[0]!;
      this.#emit("connect", { chainId: numberToHex(this.#chain.id) });
    });
    this.#ready.catch(() => {});
  }

  on(event: string, listener: Listener): this {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener));
    return this;
  }

  removeListener(event: string, listener: Listener): this {
    this.#listeners.get(event)?.delete(listener);
    return this;
  }

  async request({ method, params }: RequestArguments): Promise<unknown> {
    await this.#ready;
    const given = Array.isArray(params) ? params : [];
    switch (method) {
      case "eth_chainId":
        return numberToHex(this.#chain.id);
      case "net_version":
        return String(this.#chain.id);
      case "eth_accounts":
        return this.#accounts();
      case "eth_requestAccounts":
        return this.#inTurn(() => this.#connect());
      case "wallet_requestPermissions":
        await this.#inTurn(() => this.#connect());
        return [{ parentCapability: "eth_accounts" }];
      case "wallet_revokePermissions":
        return this.#disconnect();
      case "wallet_switchEthereumChain":
        return this.#inTurn(() => this.#switchChain(given[0]?.chainId));
      case "wallet_addEthereumChain":
        return this.#inTurn(() => this.#addChain(given[0]));
      case "eth_sendTransaction":
        return this.#inTurn(() => this.#sendTransaction(given[0] ?? {}));
      case "personal_sign":
        return this.#inTurn(() => this.#signMessage(given[0], given[1]));
      case "eth_signTypedData_v4":
        return this.#inTurn(() => this.#signTypedData(given[0], given[1]));
      case "wallet_getCapabilities":
        return this.#capabilities(given[0], given[1]);
      case "wallet_sendCalls":
        return this.#inTurn(() => this.#sendCalls(given[0] ?? {}));
      case "wallet_getCallsStatus":
        return this.#batches.status(given[0], (id) => this.#chains.get(id));
    }
    if (PASSED_ON.has(method)) return ask(this.#chain, method, given);
    throw unsupported(method);
  }

  /** Show one window at a time. A second request waits until the first window is closed. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(work);
    this.#queue = turn.catch(() => {});
    return turn;
  }

  #accounts(): Address[] {
    return localStorage.getItem(CONNECTED) ? [this.#account.address] : [];
  }

  async #connect(): Promise<Address[]> {
    if (this.#accounts().length === 0) {
      await confirm({
        kind: "connect",
        account: this.#account.address,
        network: this.#chain.name,
        title: "Connect to this site?",
        confirmLabel: "Connect",
        note: "The site will see this account's address and balance. It cannot move money without asking you.",
      });
      localStorage.setItem(CONNECTED, "1");
      this.#emit("accountsChanged", this.#accounts());
    }
    return this.#accounts();
  }

  #disconnect(): null {
    localStorage.removeItem(CONNECTED);
    this.#emit("accountsChanged", []);
    return null;
  }

  async #switchChain(chainId: unknown): Promise<null> {
    if (!isHex(chainId)) throw invalidParams("`chainId` is not a hex quantity.");
    const chain = this.#chains.get(Number(chainId));
    if (!chain) throw unknownChain(chainId);
    if (chain.id === this.#chain.id) return null;
    await confirm({
      kind: "switch",
      account: this.#account.address,
      network: this.#chain.name,
      title: "Switch network?",
      confirmLabel: "Switch",
      rows: [
        { label: "From", value: this.#chain.name },
        { label: "To", value: chain.name },
      ],
    });
    this.#useChain(chain);
    return null;
  }

  async #addChain(asked: Record<string, any> | undefined): Promise<null> {
    if (!asked || !isHex(asked.chainId)) throw invalidParams("`chainId` is not a hex quantity.");
    const id = Number(asked.chainId);
    if (!this.#chains.has(id)) {
      const rpcUrl = String(asked.rpcUrls?.[0] ?? "");
      if (!URL.canParse(rpcUrl)) throw invalidParams("`rpcUrls` needs a valid URL.");
      const chain: Chain = {
        id,
        name: String(asked.chainName ?? `Chain ${id}`).slice(0, 40),
        nativeSymbol: String(asked.nativeCurrency?.symbol ?? "ETH").slice(0, 8),
        rpcUrl,
      };
      await confirm({
        kind: "add",
        account: this.#account.address,
        network: this.#chain.name,
        title: "Add this network?",
        confirmLabel: "Add",
        rows: [
          { label: "Network", value: chain.name },
          { label: "Chain id", value: String(id) },
          { label: "Node", value: rpcUrl },
        ],
      });
      if (Number(await ask(chain, "eth_chainId")) !== id) {
        throw invalidParams("The node at that URL is on another chain.");
      }
      this.#chains.set(id, chain);
    }
    return this.#switchChain(asked.chainId);
  }

  #useChain(chain: Chain): void {
    this.#chain = chain;
    localStorage.setItem(CHAIN, String(chain.id));
    this.#emit("chainChanged", numberToHex(chain.id));
  }

  async #sendTransaction(asked: AskedTransaction): Promise<Hex> {
    this.#mustBeOurs(asked.from);
    const chain = this.#chain;
    if (asked.chainId !== undefined && Number(asked.chainId) !== chain.id) {
      throw invalidParams(`The transaction is for chain ${Number(asked.chainId)}; the wallet is on ${chain.id}.`);
    }
    if (!chain.rpcUrl) throw chainDisconnected(chain.name);
    const prepared = await prepare(chain, this.#account.address, asked);
    const nameOf = (id: number) => this.#chains.get(id)?.name ?? `chain ${id}`;
    const summary = await summarise(chain, this.#account.address, prepared, nameOf);
    await confirm({ kind: "transaction", account: this.#account.address, network: chain.name, summary });
    const nonce = asked.nonce ?? (await ask(chain, "eth_getTransactionCount", [this.#account.address, "pending"]));
    const { to, value, data, gas, maxFeePerGas, maxPriorityFeePerGas } = prepared;
    const signed = await this.#account.signTransaction(
      {
        type: "eip1559",
        chainId: chain.id,
        nonce: Number(nonce),
        to,
        value,
        data,
        gas,
        maxFeePerGas,
        maxPriorityFeePerGas,
      },
      { serializer: serializeTransaction },
    );
    return ask(chain, "eth_sendRawTransaction", [signed]);
  }

  async #capabilities(account: unknown, chainIds: unknown): Promise<Record<Hex, object>> {
    this.#mustBeOurs(account);
    const wanted = Array.isArray(chainIds) ? new Set(chainIds.map(Number)) : null;
    return this.#batches.capabilities([...this.#chains.values()].filter(({ id }) => wanted?.has(id) ?? true));
  }

  async #sendCalls(asked: object): Promise<{ id: string }> {
    this.#mustBeOurs(this.#account.address);
    return this.#batches.send(asked, this.#chain, (id) => this.#chains.get(id)?.name ?? `chain ${id}`);
  }

  async #signMessage(message: unknown, account: unknown): Promise<Hex> {
    this.#mustBeOurs(account);
    if (typeof message !== "string") throw invalidParams("The message is not a string.");
    const raw = isHex(message) ? { raw: message } : message;
    await confirm({
      kind: "sign",
      account: this.#account.address,
      network: this.#chain.name,
      title: "Sign this message?",
      confirmLabel: "Sign",
      text: isHex(message) ? hexToString(message) : message,
      note: "Signing costs nothing and moves no money.",
    });
    return this.#account.signMessage({ message: raw });
  }

  async #signTypedData(account: unknown, data: unknown): Promise<Hex> {
    this.#mustBeOurs(account);
    const typed = typeof data === "string" ? JSON.parse(data) : data;
    const address = this.#account.address;
    const summary = await summariseAuthorization(this.#chain, address, typed);
    if (summary) await confirm({ kind: "transaction", account: address, network: this.#chain.name, summary });
    else await confirm({
      kind: "sign",
      account: this.#account.address,
      network: this.#chain.name,
      title: "Sign this data?",
      confirmLabel: "Sign",
      text: JSON.stringify(typed?.message, null, 2),
      note: "Check it carefully: signed data can approve spending.",
    });
    return this.#account.signTypedData(typed);
  }

  #mustBeOurs(account: unknown): void {
    const [ours] = this.#accounts();
    if (!ours || typeof account !== "string" || account.toLowerCase() !== ours.toLowerCase()) throw unauthorized();
  }

  #emit(event: string, ...values: unknown[]): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(...values);
  }
}
