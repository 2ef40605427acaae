/** The chain families whose wallets this page connects, and their differences. */

interface Family {
  /** The decimals of the native coin. */
  readonly coinDecimals: number;
  readonly transactionHash: RegExp;
  /**
   * The longest usual time until a block is final. Ethereum takes a quarter of an hour, Solana a few seconds.
   */
  readonly longFinalityMs: number;
}

export const FAMILIES: Readonly<Partial<Record<string, Family>>> = {
  evm: { coinDecimals: 18, transactionHash: /^0x[0-9a-f]{64}$/i, longFinalityMs: 30 * 60_000 },
  // A hash has 64 bytes in base58.
  solana: { coinDecimals: 9, transactionHash: /^[1-9A-HJ-NP-Za-km-z]{64,88}$/, longFinalityMs: 3 * 60_000 },
};

/**
 * Whether the text may be a transaction's hash. For a family that isn't listed here, only the server can check that.
 */
export function isTransactionHash(family: string, text: string): boolean {
  return FAMILIES[family]?.transactionHash.test(text) ?? text !== "";
}
