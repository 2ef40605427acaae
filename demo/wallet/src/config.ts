import type { Hex } from "viem";
import type { Chain } from "./node";
import { ask } from "./node";

export interface Config {
  privateKey: Hex;
  chain: Chain;
}

interface ServedConfig {
  privateKey: Hex;
  rpc: string;
  chainName: string;
  nativeSymbol: string;
}

/** Read what the demo server says, and ask its node which chain it is on. */
export async function loadConfig(): Promise<Config> {
  const response = await fetch("/demo-wallet/config.json");
  if (!response.ok) throw new Error(`The demo wallet has no configuration (${response.status}).`);
  const served = (await response.json()) as ServedConfig;
  const chain: Chain = { id: 0, name: served.chainName, nativeSymbol: served.nativeSymbol, rpcUrl: served.rpc };
  chain.id = Number(await ask(chain, "eth_chainId"));
  return { privateKey: served.privateKey, chain };
}
