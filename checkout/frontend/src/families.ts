/** The differences between the families of chains whose wallets this page connects. */

interface Family {
  /** The decimals of the native coin, which pays the fees. */
  readonly coinDecimals: number;
  readonly transactionHash: RegExp;
  /** A longer time until a block is final is unusual. Ethereum takes a quarter of an hour, Solana a few seconds. */
  readonly longFinalityMs: number;
}

export const FAMILIES: Readonly<Partial<Record<string, Family>>> = {
  evm: { coinDecimals: 18, transactionHash: /^0x[0-9a-f]{64}$/i, longFinalityMs: 30 * 60_000 },
  // 64 bytes in base58.
  solana: { coinDecimals: 9, transactionHash: /^[1-9A-HJ-NP-Za-km-z]{64,88}$/, longFinalityMs: 3 * 60_000 },
};

/** Whether the text may be a transaction's hash. Only the server can check a hash of a family that isn't listed here. */
export function isTransactionHash(family: string, text: string): boolean {
  return FAMILIES[family]?.transactionHash.test(text) ?? text !== "";
}
