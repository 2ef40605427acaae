import { encodeFunctionData, hexToBigInt, isAddress, isHex, numberToHex, parseAbi, serializeTransaction, size, type Address, type Hex } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { invalidParams, ProviderError, unauthorized, unsupported } from "./errors";
import { ask, type Chain } from "./node";
import { findFees, prepare, summarise, summariseFee } from "./transaction";
import { confirm, type Summary } from "./window";

/** The parameters of `wallet_sendCalls`. */
interface AskedBatch {
  version?: unknown;
  id?: unknown;
  from?: unknown;
  chainId?: unknown;
  atomicRequired?: unknown;
  calls?: unknown;
  capabilities?: Record<string, { optional?: boolean }>;
}

interface AskedCall {
  to?: Address;
  value?: Hex;
  data?: Hex;
}

interface Sent {
  chainId: number;
  hash: Hex;
}

interface Receipt {
  status: Hex;
  logs: { address: Hex; data: Hex; topics: Hex[] }[];
  blockHash: Hex;
  blockNumber: Hex;
  gasUsed: Hex;
  transactionHash: Hex;
}

const VERSION = "2.0.0";
const ABI = parseAbi(["function executeBatch((address target, uint256 value, bytes data)[] calls) payable"]);
/** The code of an account that delegates by EIP-7702 begins with this. */
const DESIGNATOR = "0xef0100";
const MAX_CALLS = 20;
const SENT = "demo-wallet:batches-sent";
/** With `localStorage["demo-wallet:batches"] = "off"`, the wallet doesn't support batches. */
const SWITCH = "demo-wallet:batches";

const wrongVersion = () => new ProviderError(-32000, `The wallet supports version ${VERSION} of wallet_sendCalls.`);
const unsupportedCapability = (name: string) => new ProviderError(5700, `The wallet does not support ${name}.`);
const unsupportedChain = (id: unknown) => new ProviderError(5710, `The wallet executes no batches on chain ${String(id)} now.`);
const duplicateId = () => new ProviderError(5720, "There is a batch with this id already.");
const unknownId = () => new ProviderError(5730, "The wallet knows no batch with this id.");
const tooLarge = () => new ProviderError(5740, `A batch has at most ${MAX_CALLS} calls.`);

/** Atomic batches (EIP-5792) of an account that delegates to a contract (EIP-7702). */
export class Batches {
  /** `delegate` is the contract on each chain, or null if the demo has none. */
  constructor(
    private readonly account: PrivateKeyAccount,
    private readonly delegate: Address | null,
  ) {}

  /** The result of `wallet_getCapabilities`. It contains only the chains on which the account can execute batches. */
  async capabilities(chains: Chain[]): Promise<Record<Hex, object>> {
    this.mustBeOn("wallet_getCapabilities");
    const able = await Promise.all(chains.map((chain) => this.isAble(chain)));
    const on = chains.filter((_, place) => able[place]);
    return Object.fromEntries(on.map(({ id }) => [numberToHex(id), { atomic: { status: "supported" } }]));
  }

  /** Show one prompt for all calls. Send them in one transaction of the account to itself. */
  async send(asked: AskedBatch, chain: Chain, nameOf: (id: number) => string): Promise<{ id: string }> {
    this.mustBeOn("wallet_sendCalls");
    const calls = this.checked(asked, chain);
    if (!(await this.isAble(chain))) throw unsupportedChain(chain.id);
    const id = typeof asked.id === "string" ? asked.id : randomId();
    if (id in sent()) throw duplicateId();
    const { address } = this.account;
    const summaries: Summary[] = [];
    for (const call of calls) summaries.push(await summarise(chain, address, await prepare(chain, address, call), nameOf));
    const batch = await this.prepared(chain, calls);
    await confirm({ kind: "batch", account: address, network: chain.name, summaries, ...batch.costs });
    const hash = await ask(chain, "eth_sendRawTransaction", [await this.account.signTransaction(batch.transaction, { serializer: serializeTransaction })]);
    localStorage.setItem(SENT, JSON.stringify({ ...sent(), [id]: { chainId: chain.id, hash } }));
    return { id };
  }

  async status(id: unknown, chainOf: (id: number) => Chain | undefined): Promise<object> {
    this.mustBeOn("wallet_getCallsStatus");
    const batch = typeof id === "string" ? sent()[id] : undefined;
    const chain = batch && chainOf(batch.chainId);
    if (!batch || !chain) throw unknownId();
    const said = { version: VERSION, id, chainId: numberToHex(batch.chainId), atomic: true };
    const receipt = await ask<Receipt | null>(chain, "eth_getTransactionReceipt", [batch.hash]);
    if (!receipt) return { ...said, status: 100 };
    const { status, blockHash, blockNumber, gasUsed, transactionHash } = receipt;
    const logs = receipt.logs.map(({ address, data, topics }) => ({ address, data, topics }));
    const receipts = [{ logs, status, blockHash, blockNumber, gasUsed, transactionHash }];
    return { ...said, status: Number(status) === 1 ? 200 : 500, receipts };
  }

  private mustBeOn(method: string): void {
    if (localStorage.getItem(SWITCH) === "off" || !this.delegate) throw unsupported(method);
  }

  private checked({ version, from, chainId, atomicRequired, calls, capabilities }: AskedBatch, chain: Chain): AskedCall[] {
    if (version !== VERSION) throw wrongVersion();
    if (from !== undefined && String(from).toLowerCase() !== this.account.address.toLowerCase()) throw unauthorized();
    if (!isHex(chainId) || typeof atomicRequired !== "boolean") throw invalidParams("`chainId` or `atomicRequired` is malformed.");
    if (Number(chainId) !== chain.id) throw unsupportedChain(Number(chainId));
    const required = Object.entries(capabilities ?? {}).find(([, { optional }]) => optional !== true);
    if (required) throw unsupportedCapability(required[0]);
    if (!Array.isArray(calls) || calls.length === 0) throw invalidParams("`calls` has no calls.");
    if (calls.length > MAX_CALLS) throw tooLarge();
    if (!calls.every(isCall)) throw invalidParams("`calls` needs an address, and hex data and values.");
    return calls;
  }

  private async isAble(chain: Chain): Promise<boolean> {
    const code = chain.rpcUrl && this.delegate ? await ask(chain, "eth_getCode", [this.delegate, "latest"]) : "0x";
    return size(code) > 0;
  }

  private async prepared(chain: Chain, calls: AskedCall[]) {
    const { address } = this.account;
    const delegate = this.delegate!;
    const [code, count] = await Promise.all([
      ask(chain, "eth_getCode", [address, "latest"]),
      ask(chain, "eth_getTransactionCount", [address, "pending"]),
    ]);
    const nonce = Number(count);
    const isDelegated = code.toLowerCase() === DESIGNATOR + delegate.slice(2).toLowerCase();
    // The transaction has the account's current nonce. So the authorization must have the nonce after it.
    const terms = { address: delegate, chainId: chain.id, nonce: nonce + 1 };
    const authorizationList = isDelegated ? [] : [await this.account.signAuthorization(terms)];
    const wanted = calls.map(({ to, value, data }) => ({ target: to!, value: BigInt(value ?? 0), data: data ?? "0x" }));
    const data = encodeFunctionData({ abi: ABI, functionName: "executeBatch", args: [wanted] });
    const asList = authorizationList.map((one) => ({
      chainId: numberToHex(one.chainId),
      address: one.address,
      nonce: numberToHex(one.nonce),
      r: one.r,
      s: one.s,
      yParity: numberToHex(one.yParity!),
    }));
    const call = { from: address, to: address, data, ...(asList.length > 0 ? { authorizationList: asList } : {}) };
    const { gas, warning } = await estimate(chain, call);
    const fees = await findFees(chain, {});
    const common = { chainId: chain.id, nonce, to: address, value: 0n, data, gas: (gas * 12n) / 10n, ...fees };
    const { maxFeePerGas, maxPriorityFeePerGas } = fees;
    const fields = { ...common, maxFeePerGas, maxPriorityFeePerGas };
    const transaction = isDelegated
      ? ({ type: "eip1559", ...fields } as const)
      : ({ type: "eip7702", ...fields, authorizationList } as const);
    const fee = summariseFee(chain, gas * fees.expectedPrice, fields.gas * maxFeePerGas);
    return { transaction, costs: { fee, warning, isUpgrade: !isDelegated } };
  }
}

async function estimate(chain: Chain, call: object): Promise<{ gas: bigint; warning: string | null }> {
  try {
    return { gas: hexToBigInt(await ask(chain, "eth_estimateGas", [call])), warning: null };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { gas: 1_000_000n, warning: message.replace(/[:\s]*(0x)?[0-9a-f]{64,}/gi, "") };
  }
}

function isCall(call: unknown): call is AskedCall {
  const { to, data = "0x", value = "0x0" } = (call ?? {}) as Record<string, unknown>;
  return typeof to === "string" && isAddress(to, { strict: false }) && isHex(data) && isHex(value);
}

function sent(): Record<string, Sent> {
  return JSON.parse(localStorage.getItem(SENT) ?? "{}") as Record<string, Sent>;
}

function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(32))].reduce((id, byte) => id + byte.toString(16).padStart(2, "0"), "0x");
}
