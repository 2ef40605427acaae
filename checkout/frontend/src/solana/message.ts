/** Decodes an unsigned version 0 transaction: the signers, and each instruction with its accounts. */

import { toBase58 } from "./base58";

export interface AccountUse {
  address: string;
  isSigner: boolean;
  isWritable: boolean;
}

export interface Instruction {
  program: string;
  accounts: AccountUse[];
  data: Uint8Array;
}

export interface Message {
  /** The payer: the only signer or, in a sponsored transaction, the second signer. */
  payer: string;
  /** The first signer. */
  feePayer: string;
  instructions: Instruction[];
}

const KEY = 32;
const SIGNATURE = 64;
const VERSION_0 = 0x80;

/**
 * Decode a version 0 message. The message must not use lookup tables. The payer must be the only signer. In a sponsored
 * transaction, the first signer is the account that pays the fee, and the payer is the second. Throws RangeError for
 * any other message.
 */
export function readTransaction(bytes: Uint8Array, isSponsored = false): Message {
  const reader = new Reader(bytes);
  const expected = isSponsored ? 2 : 1;
  if (reader.short() !== expected) throw new RangeError("Another number of signatures");
  reader.take(SIGNATURE * expected);
  if (reader.byte() !== VERSION_0) throw new RangeError("Not version 0");
  const [signers, readOnlySigners, readOnlyOthers] = [reader.byte(), reader.byte(), reader.byte()];
  if (signers !== expected || readOnlySigners >= expected) throw new RangeError("Another number of signers");
  const keys = reader.list(() => toBase58(reader.take(KEY)));
  const uses = keys.map((address, index) => ({
    address,
    isSigner: index < signers,
    isWritable: index < signers ? index < signers - readOnlySigners : index < keys.length - readOnlyOthers,
  }));
  reader.take(KEY); // the recent blockhash
  const use = (): AccountUse => present(uses[reader.byte()]);
  const instructions = reader.list(() => ({
    program: use().address,
    accounts: reader.list(use),
    data: reader.take(reader.short()),
  }));
  // The accounts in a lookup table are only known on the chain.
  if (reader.short() !== 0 || !reader.isAtEnd) throw new RangeError("More than a payment");
  return { payer: present(uses[expected - 1]).address, feePayer: present(uses[0]).address, instructions };
}

/** Return the account that pays a transaction's fee. Throws RangeError if the transaction can't be decoded. */
export function readPayer(bytes: Uint8Array): string {
  const reader = new Reader(bytes);
  reader.take(reader.short() * SIGNATURE);
  const first = reader.byte();
  const signers = first >= VERSION_0 ? reader.byte() : first;
  reader.take(2);
  if (signers < 1 || reader.short() < signers) throw new RangeError("No signer");
  return toBase58(reader.take(KEY));
}

/** Read `bytes` as an unsigned little-endian number. */
export function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
}

function present(use: AccountUse | undefined): AccountUse {
  if (!use) throw new RangeError("No such account");
  return use;
}

class Reader {
  private place = 0;

  constructor(private readonly bytes: Uint8Array) {}

  get isAtEnd(): boolean {
    return this.place === this.bytes.length;
  }

  take(count: number): Uint8Array {
    const end = this.place + count;
    if (end > this.bytes.length) throw new RangeError("Cut short");
    const taken = this.bytes.subarray(this.place, end);
    this.place = end;
    return taken;
  }

  byte(): number {
    return this.take(1)[0] ?? 0;
  }

  /** Read a length in Solana's compact-u16 encoding. */
  short(): number {
    let value = 0;
    for (let shift = 0; shift <= 14; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError("Not a length");
  }

  list<T>(read: () => T): T[] {
    return Array.from({ length: this.short() }, read);
  }
}
