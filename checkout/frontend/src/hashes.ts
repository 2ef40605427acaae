/** How the name of a transaction looks in each family of chains. */

const SHAPES: Readonly<Record<string, RegExp>> = {
  evm: /^0x[0-9a-f]{64}$/i,
  // 64 bytes in base58.
  solana: /^[1-9A-HJ-NP-Za-km-z]{64,88}$/,
};

export function isTransactionHash(family: string, text: string): boolean {
  return SHAPES[family]?.test(text) ?? false;
}
