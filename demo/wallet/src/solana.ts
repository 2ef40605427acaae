import { ed25519 } from "@noble/curves/ed25519";
import { hexToBytes } from "viem";
import { toBase58 } from "../../../checkout/frontend/src/solana/base58";
import { readTransaction, type Message } from "../../../checkout/frontend/src/solana/message";
import { readPayment, type SolanaPayment } from "../../../checkout/frontend/src/solana/payment";
import type { SolanaConfig } from "./config";
import { invalidParams, unauthorized } from "./errors";
import { ask } from "./node";
import { MEMO } from "./solana-moves";
import { summarise, summariseOther } from "./solana-summary";
import { confirm } from "./window";

interface Account {
  address: string;
  publicKey: Uint8Array;
  chains: readonly string[];
  features: readonly string[];
}

interface Asked {
  account: Account;
  transaction: Uint8Array;
  message: Uint8Array;
}

type Listener = (change: { accounts: readonly Account[] }) => void;

const CHAIN = "solana:localnet";
const CONNECTED = "demo-wallet:solana-connected";
const SIGNATURE = 64;

/** Register the wallet through the Wallet Standard, whether the page or the wallet loads first. */
export function registerSolanaWallet(config: SolanaConfig, name: string, icon: string): void {
  const wallet = new DemoSolanaWallet(config, name, icon);
  const register = (api: { register(wallet: DemoSolanaWallet): void }) => api.register(wallet);
  window.addEventListener("wallet-standard:app-ready", (event) => register((event as CustomEvent).detail));
  window.dispatchEvent(new CustomEvent("wallet-standard:register-wallet", { detail: register }));
}

/** The wallet's interface for pages: Wallet Standard, with one account. */
class DemoSolanaWallet {
  readonly version = "1.0.0";
  readonly chains = [CHAIN];
  readonly features = {
    "standard:connect": {
      version: "1.0.0",
      connect: async (asked?: { silent?: boolean }) =>
        asked?.silent ? { accounts: this.accounts } : this.#inTurn(() => this.#connect()),
    },
    "standard:disconnect": { version: "1.0.0", disconnect: async () => this.#disconnect() },
    "standard:events": { version: "1.0.0", on: (_: "change", listener: Listener) => this.#on(listener) },
    "solana:signAndSendTransaction": {
      version: "1.0.0",
      supportedTransactionVersions: [0],
      signAndSendTransaction: (...asked: Asked[]) => this.#each(asked, (one) => this.#sendTransaction(one)),
    },
    "solana:signTransaction": {
      version: "1.0.0",
      supportedTransactionVersions: [0],
      signTransaction: (...asked: Asked[]) => this.#each(asked, (one) => this.#signTransaction(one)),
    },
    "solana:signMessage": {
      version: "1.1.0",
      signMessage: (...asked: Asked[]) => this.#each(asked, (one) => this.#signMessage(one)),
    },
  };

  readonly #key: Uint8Array;
  readonly #account: Account;
  readonly #listeners = new Set<Listener>();
  #queue: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly config: SolanaConfig,
    readonly name: string,
    readonly icon: string,
  ) {
    this.#key = hexToBytes(`0x${config.privateKey}`);
    const publicKey = ed25519.getPublicKey(this.#key);
    const features = ["solana:signAndSendTransaction", "solana:signTransaction", "solana:signMessage"];
    this.#account = { address: toBase58(publicKey), publicKey, chains: this.chains, features };
  }

  get accounts(): readonly Account[] {
    return localStorage.getItem(CONNECTED) ? [this.#account] : [];
  }

  async #connect(): Promise<{ accounts: readonly Account[] }> {
    if (this.accounts.length === 0) {
      await confirm({
        ...this.#asking,
        kind: "connect",
        title: "Connect to this site?",
        confirmLabel: "Connect",
        note: "The site will see this account's address and balance. It cannot move money without asking you.",
      });
      localStorage.setItem(CONNECTED, "1");
      this.#notify();
    }
    return { accounts: this.accounts };
  }

  #disconnect(): void {
    localStorage.removeItem(CONNECTED);
    this.#notify();
  }

  async #sendTransaction({ account, transaction }: Asked): Promise<{ signature: Uint8Array }> {
    this.#mustBeOurs(account);
    const { chain, symbols } = this.config;
    const { payer, payment, message: asked } = read(transaction);
    if (payer !== this.#account.address) throw unauthorized();
    const summary = payment
      ? await summarise(chain, symbols, payment, transaction)
      : await summariseOther(chain, symbols, asked, transaction);
    await confirm({ ...this.#asking, kind: "transaction", summary });
    const message = transaction.slice(1 + SIGNATURE);
    const signature = ed25519.sign(message, this.#key);
    const signed = btoa(String.fromCharCode(1, ...signature, ...message));
    await ask(chain, "sendTransaction", [signed, { encoding: "base64", preflightCommitment: "confirmed" }]);
    return { signature };
  }

  /** Sign a payment that another account sends. The sending account also pays the network fee. */
  async #signTransaction({ account, transaction }: Asked): Promise<{ signedTransaction: Uint8Array }> {
    this.#mustBeOurs(account);
    const { chain, symbols } = this.config;
    let payment: SolanaPayment;
    try {
      payment = readPayment(transaction, true);
    } catch {
      throw invalidParams("This wallet signs only single payments for which another account pays the fee.");
    }
    if (payment.payer !== this.#account.address) throw unauthorized();
    const { deposit: _, ...summary } = await summarise(chain, symbols, payment, transaction);
    const fee = { value: "none", detail: "another account pays it" };
    await confirm({ ...this.#asking, kind: "transaction", summary: { ...summary, title: "Sign a transfer", fee } });
    const signedTransaction = transaction.slice();
    signedTransaction.set(ed25519.sign(transaction.slice(1 + 2 * SIGNATURE), this.#key), 1 + SIGNATURE);
    return { signedTransaction };
  }

  async #signMessage({ account, message }: Asked): Promise<{ signedMessage: Uint8Array; signature: Uint8Array }> {
    this.#mustBeOurs(account);
    await confirm({
      ...this.#asking,
      kind: "sign",
      title: "Sign this message?",
      confirmLabel: "Sign",
      text: new TextDecoder().decode(message),
      note: "Signing costs nothing and moves no money.",
    });
    return { signedMessage: message, signature: ed25519.sign(message, this.#key) };
  }

  get #asking(): { account: string; network: string } {
    return { account: this.#account.address, network: this.config.chain.name };
  }

  #mustBeOurs(account: Account | undefined): void {
    if (this.accounts.length === 0 || account?.address !== this.#account.address) throw unauthorized();
  }

  /** Handle the requests in order, with one confirmation window at a time. */
  async #each<T>(asked: Asked[], answer: (one: Asked) => Promise<T>): Promise<T[]> {
    const answers: T[] = [];
    for (const one of asked) answers.push(await this.#inTurn(() => answer(one)));
    return answers;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(work);
    this.#queue = turn.catch(() => {});
    return turn;
  }

  #on(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener({ accounts: this.accounts });
  }
}

/** Decode a transaction. `payment` is null if it isn't a single plain payment. */
function read(transaction: Uint8Array): { payer: string; payment: SolanaPayment | null; message: Message } {
  let message: Message;
  try {
    message = readTransaction(transaction);
  } catch {
    throw invalidParams("This wallet supports only single-signer transactions without address lookup tables.");
  }
  try {
    const payment = readPayment(transaction);
    // A swap of the local provider is a transfer with a memo. The window shows that memo. In a payment, the memo only
    // repeats the reference.
    const hasMemo = message.instructions.some(({ program }) => program === MEMO);
    return { payer: message.payer, payment: hasMemo && payment.reference === null ? null : payment, message };
  } catch {
    return { payer: message.payer, payment: null, message };
  }
}
