import type { Hex } from "viem";
import { chainDisconnected, ProviderError } from "./errors";

export interface Chain {
  id: number;
  name: string;
  nativeSymbol: string;
  /** The URL of its node. Null if the wallet can't reach the chain. */
  rpcUrl: string | null;
}

let nextId = 1;

/** Call a chain's node. An error from the node is thrown as a ProviderError. */
export async function ask<T = Hex>(chain: Chain, method: string, params: unknown = []): Promise<T> {
  if (!chain.rpcUrl) throw chainDisconnected(chain.name);
  let answer: { result?: T; error?: { code: number; message: string; data?: unknown } };
  try {
    const response = await fetch(chain.rpcUrl, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: nextId++, method, params }),
    });
    answer = await response.json();
  } catch {
    throw new ProviderError(4900, `${chain.name} cannot be reached.`);
  }
  if (answer.error) throw new ProviderError(answer.error.code, answer.error.message, answer.error.data);
  return answer.result as T;
}
