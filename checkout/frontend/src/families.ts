/** What differs between the families of chains whose wallets this page connects. */

interface Family {
  /** Of the native coin, in which fees are paid. */
  readonly coinDecimals: number;
  readonly transactionHash: RegExp;
  /** Blocks become final sooner than this: on Ethereum in a quarter of an hour, on Solana in some seconds. */
  readonly longFinalityMs: number;
}

export const FAMILIES: Readonly<Partial<Record<string, Family>>> = {
  evm: { coinDecimals: 18, transactionHash: /^0x[0-9a-f]{64}$/i, longFinalityMs: 30 * 60_000 },
  // 64 bytes in base58.
  solana: { coinDecimals: 9, transactionHash: /^[1-9A-HJ-NP-Za-km-z]{64,88}$/, longFinalityMs: 3 * 60_000 },
};

/** Whether the text may be a transaction's hash. The server alone knows those of a family that isn't listed here. */
export function isTransactionHash(family: string, text: string): boolean {
  return FAMILIES[family]?.transactionHash.test(text) ?? text !== "";
}
