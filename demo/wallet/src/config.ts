import type { Hex } from "viem";
import type { Chain } from "./node";
import { ask } from "./node";

export interface Config {
  privateKey: Hex;
  chain: Chain;
}

export interface SolanaConfig {
  /** The 32 bytes of the key's seed, in hex. */
  privateKey: string;
  chain: Chain;
  /** Symbols by mint: the chain itself keeps none. */
  symbols: Record<string, string>;
}

interface ServedConfig {
  privateKey: Hex;
  rpc: string;
  chainName: string;
  nativeSymbol: string;
  solana: { privateKey: string; rpc: string; chainName: string; symbols: Record<string, string> } | null;
}

let served: Promise<ServedConfig> | null = null;

/** Read what the demo server says, and ask its node which chain it is on. */
export async function loadConfig(): Promise<Config> {
  const { privateKey, chainName, nativeSymbol, rpc } = await (served ??= read());
  const chain: Chain = { id: 0, name: chainName, nativeSymbol, rpcUrl: rpc };
  chain.id = Number(await ask(chain, "eth_chainId"));
  return { privateKey, chain };
}

/** What the demo server says of its Solana chain, or null where it has none. */
export async function loadSolanaConfig(): Promise<SolanaConfig | null> {
  const { solana } = await (served ??= read());
  if (!solana) return null;
  const { privateKey, symbols, chainName: name, rpc: rpcUrl } = solana;
  return { privateKey, symbols, chain: { id: 0, name, nativeSymbol: "SOL", rpcUrl } };
}

async function read(): Promise<ServedConfig> {
  const response = await fetch("/demo-wallet/config.json");
  if (!response.ok) throw new Error(`The demo wallet has no configuration (${response.status}).`);
  return (await response.json()) as ServedConfig;
}
