/** Keccak-256, the hash of Ethereum. Node.js doesn't have it: Node.js's SHA3-256 differs in one byte of padding. */

const RATE = 136;
const MASK = 2n ** 64n - 1n;
const ROTATIONS = [
  [0, 36, 3, 41, 18],
  [1, 44, 10, 45, 2],
  [62, 6, 43, 15, 61],
  [28, 55, 25, 21, 56],
  [27, 20, 39, 8, 14],
];
const CONSTANTS = roundConstants();

/** The constants of the 24 rounds. FIPS 202 defines them by a shift register. */
function roundConstants(): bigint[] {
  const constants: bigint[] = [];
  let register = 1;
  for (let round = 0; round < 24; round++) {
    let constant = 0n;
    for (let bit = 0; bit < 7; bit++) {
      if (register & 1) constant |= 1n << BigInt(2 ** bit - 1);
      register = (register << 1) ^ (register & 0x80 ? 0x171 : 0);
    }
    constants.push(constant);
  }
  return constants;
}

/** Returns the Keccak-256 hash of `data`. */
export function keccak256(data: Uint8Array): Uint8Array {
  const padded = new Uint8Array((Math.floor(data.length / RATE) + 1) * RATE);
  padded.set(data);
  padded[data.length] = 0x01;
  padded[padded.length - 1]! |= 0x80;
  const view = new DataView(padded.buffer);
  let state = new Array<bigint>(25).fill(0n); // at x + 5 * y
  for (let start = 0; start < padded.length; start += RATE) {
    for (let lane = 0; lane < RATE / 8; lane++) state[lane]! ^= view.getBigUint64(start + 8 * lane, true);
    state = permuted(state);
  }
  const hash = new DataView(new ArrayBuffer(32));
  for (let lane = 0; lane < 4; lane++) hash.setBigUint64(8 * lane, state[lane]!, true);
  return new Uint8Array(hash.buffer);
}

function permuted(start: bigint[]): bigint[] {
  let state = start;
  for (const constant of CONSTANTS) {
    const columns = [0, 1, 2, 3, 4].map((x) => [0, 5, 10, 15, 20].reduce((sum, row) => sum ^ state[x + row]!, 0n));
    const mixed = columns.map((_, x) => columns[(x + 4) % 5]! ^ rotated(columns[(x + 1) % 5]!, 1));
    const moved = new Array<bigint>(25).fill(0n);
    for (let x = 0; x < 5; x++) {
      for (let y = 0; y < 5; y++) {
        moved[y + 5 * ((2 * x + 3 * y) % 5)] = rotated(state[x + 5 * y]! ^ mixed[x]!, ROTATIONS[x]![y]!);
      }
    }
    state = moved.map((lane, at) => {
      const row = at - (at % 5);
      return lane ^ (~moved[row + ((at + 1) % 5)]! & MASK & moved[row + ((at + 2) % 5)]!);
    });
    state[0]! ^= constant;
  }
  return state;
}

function rotated(word: bigint, bits: number): bigint {
  return ((word << BigInt(bits)) | (word >> BigInt(64 - bits))) & MASK;
}
