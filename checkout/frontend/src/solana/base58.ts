/** Base58 in Bitcoin's alphabet. Solana's addresses and signatures have this format. */

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

export function toBase58(bytes: Uint8Array): string {
  let number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  let text = "";
  for (; number > 0n; number /= 58n) text = ALPHABET.charAt(Number(number % 58n)) + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return "1".repeat(zeros < 0 ? bytes.length : zeros) + text;
}

/** Decode `text` to `length` bytes. Return null if it has another length or is invalid. */
export function fromBase58(text: string, length: number): Uint8Array | null {
  // A byte needs less than 1.37 characters.
  if (text.length > Math.ceil(length * 1.37) + 1) return null;
  let number = 0n;
  for (const character of text) {
    const digit = ALPHABET.indexOf(character);
    if (digit < 0) return null;
    number = number * 58n + BigInt(digit);
  }
  const bytes = new Uint8Array(length);
  for (let place = length - 1; place >= 0; place -= 1, number /= 256n) bytes[place] = Number(number % 256n);
  return number === 0n && toBase58(bytes) === text ? bytes : null;
}
