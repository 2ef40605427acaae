import type { Address, Hex } from "viem";
import type { Chain } from "./node";
import { ask } from "./node";

export interface Config {
  privateKey: Hex;
  /** The wallet starts on the first of these chains. */
  chains: Chain[];
  /** The contract to which the account delegates for batches. Null if the demo has none. */
  delegate: Address | null;
}

export interface SolanaConfig {
  /** The 32 bytes of the key's seed, in hex. */
  privateKey: string;
  chain: Chain;
  /** Symbols by mint, because the chain doesn't store symbols. */
  symbols: Record<string, string>;
}

interface ServedConfig {
  privateKey: Hex;
  /** The key of the merchant's wallet. Null if the demo has none. */
  merchantKey: Hex | null;
  chains: { rpc: string; name: string; nativeSymbol: string }[];
  delegate: Address | null;
  solana: ServedSolana | null;
}

interface ServedSolana {
  privateKey: string;
  merchantKey: string | null;
  rpc: string;
  chainName: string;
  symbols: Record<string, string>;
}

let served: Promise<ServedConfig> | null = null;

/** Read the configuration from the demo server, and the chain id from each node. */
export async function loadConfig(isMerchant: boolean): Promise<Config> {
  const { privateKey, merchantKey, chains, delegate } = await (served ??= read());
  const key = isMerchant && merchantKey ? merchantKey : privateKey;
  return { privateKey: key, chains: await Promise.all(chains.map(withId)), delegate };
}

async function withId({ rpc, name, nativeSymbol }: ServedConfig["chains"][number]): Promise<Chain> {
  const chain: Chain = { id: 0, name, nativeSymbol, rpcUrl: rpc };
  return { ...chain, id: Number(await ask(chain, "eth_chainId")) };
}

/** The demo server's configuration of its Solana chain, or null if it has none. */
export async function loadSolanaConfig(isMerchant: boolean): Promise<SolanaConfig | null> {
  const { solana } = await (served ??= read());
  if (!solana) return null;
  const { privateKey: own, merchantKey, symbols, chainName: name, rpc: rpcUrl } = solana;
  return { privateKey: (isMerchant && merchantKey) || own, symbols, chain: { id: 0, name, nativeSymbol: "SOL", rpcUrl } };
}

async function read(): Promise<ServedConfig> {
  const response = await fetch("/demo-wallet/config.json");
  if (!response.ok) throw new Error(`The demo wallet has no configuration (${response.status}).`);
  return (await response.json()) as ServedConfig;
}
