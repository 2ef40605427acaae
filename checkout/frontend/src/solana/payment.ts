/** Decodes a Solana payment, and checks that it is exactly the one that the customer saw. */

import type { Shown, Signed } from "../wallets/wallet";
import { fromBase58, toBase58 } from "./base58";
import { littleEndian, readPayer, readTransaction, type Instruction } from "./message";

const SYSTEM = "11111111111111111111111111111111";
const BUDGET = "ComputeBudget111111111111111111111111111111";
const ASSOCIATED = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";
const MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";
const TOKEN_PROGRAMS = ["TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"];

const SIGNATURE_FEE = 5_000n;
/** Transactions with a higher fee than this are rejected. The usual fee is about a thousandth of it. */
const HIGHEST_FEE = 10_000_000n;
const DEFAULT_UNITS = 200_000n;
/** A payment spends from at most this many token accounts of the payer. */
const MAX_SOURCES = 5;

const TRANSFER = 2n;
const TRANSFER_CHECKED = 12;
const CREATE_IDEMPOTENT = 1;

/**
 * Amounts are in base units, and the fee is in lamports. `amount` is the sum of all transfers. For SOL, `mint` and
 * `tokenProgram` are null.
 */
export interface SolanaPayment {
  payer: string;
  mint: string | null;
  tokenProgram: string | null;
  amount: bigint;
  decimals: number;
  /** The receiving account. For a token, it is the recipient's token account. */
  to: string;
  /** The recipient's token account, if the transaction creates it first. Otherwise null. */
  opens: { account: string; owner: string; mint: string } | null;
  /** The Solana Pay reference: an unused account in the transaction. The service finds the payment by it. */
  reference: string | null;
  fee: bigint;
}

/**
 * Decode a transaction that consists of one payment. A token may come from up to five accounts. In a sponsored
 * transaction, another account pays the fee, and may open the recipient's token account. Throws RangeError for any
 * other transaction.
 */
export function readPayment(transaction: Uint8Array, isSponsored = false): SolanaPayment {
  const { payer, feePayer, instructions } = readTransaction(transaction, isSponsored);
  const rest = instructions.filter(({ program }) => program !== BUDGET);
  const opening = rest.find(({ program }) => program === ASSOCIATED);
  const moves = rest.filter((instruction) => instruction !== opening && instruction.program !== MEMO);
  const fee = highestFee(instructions);
  const opens = opening ? readOpening(opening, feePayer) : null;
  const paid = readMoves(moves, payer);
  if (opens && (paid.mint !== opens.mint || paid.to !== opens.account)) throw new RangeError("Opens another account");
  return { payer, ...paid, opens, fee };
}

/**
 * Whether the base64 transaction makes exactly the payment that was shown. In a provider's transaction, only the payer
 * is checked.
 */
export async function matchesShown(transaction: string, shown: Shown): Promise<boolean> {
  let paid: SolanaPayment;
  try {
    // A provider's transaction may use lookup tables, so it can't be decoded here. The wallet simulates it, and shows
    // its effect.
    if (shown.kind === "call") return readPayer(fromBase64(transaction)) === shown.account;
    if (shown.kind !== "transfer") return false;
    paid = readPayment(fromBase64(transaction), shown.isSponsored);
  } catch {
    return false;
  }
  const { token, recipient, account, rawAmount } = shown;
  const { payer, mint, tokenProgram, amount, decimals, to, opens, fee } = paid;
  if (payer !== account || amount !== BigInt(rawAmount) || fee > HIGHEST_FEE) return false;
  if (decimals !== token.decimals || (mint ?? "") !== token.contract_address) return false;
  if (!mint || !tokenProgram) return to === recipient;
  if (opens && opens.owner !== recipient) return false;
  return isTokenAccountOf(to, recipient, tokenProgram, mint);
}

/**
 * Decode a matching payment for display. For a token transfer, the recipient is shown, and not the recipient's token
 * account that receives the tokens.
 */
export function readSigned(transaction: string, shown: Shown): Signed | null {
  if (shown.kind !== "transfer") return null;
  const { mint, amount, to } = readPayment(fromBase64(transaction), shown.isSponsored);
  const party = mint ? shown.recipient : to;
  return { chainId: shown.chainId, party, contract: mint, rawAmount: amount.toString() };
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

type Move = Pick<SolanaPayment, "mint" | "tokenProgram" | "amount" | "decimals" | "to" | "reference">;

function readMoves(moves: Instruction[], payer: string): Move {
  const read = moves.map((move) => (move.program === SYSTEM ? readCoinMove(move, payer) : readTokenMove(move, payer)));
  const [first, ...others] = read;
  if (!first || read.length > (first.mint ? MAX_SOURCES : 1)) throw new RangeError("Not one payment");
  const names = ["mint", "tokenProgram", "decimals", "to", "reference"] as const;
  if (others.some((move) => names.some((name) => move[name] !== first[name]))) throw new RangeError("Not one payment");
  return { ...first, amount: read.reduce((sum, { amount }) => sum + amount, 0n) };
}

function readCoinMove({ accounts, data }: Instruction, payer: string): Move {
  const [from, to, ...others] = accounts;
  const isTransfer = data.length === 12 && littleEndian(data.subarray(0, 4)) === TRANSFER;
  if (!isTransfer || !from || !to || from.address !== payer) throw new RangeError("Not a transfer");
  const paid = { amount: littleEndian(data.subarray(4)), decimals: 9, to: to.address };
  return { mint: null, tokenProgram: null, ...paid, reference: referenceAmong(others) };
}

function readTokenMove({ program, accounts, data }: Instruction, payer: string): Move {
  const [source, mint, to, owner, ...others] = accounts;
  const isTransfer = TOKEN_PROGRAMS.includes(program) && data.length === 10 && data[0] === TRANSFER_CHECKED;
  if (!isTransfer || !source || !mint || !to || owner?.address !== payer) throw new RangeError("Not a transfer");
  const paid = { amount: littleEndian(data.subarray(1, 9)), decimals: data[9] ?? 0, to: to.address };
  return { mint: mint.address, tokenProgram: program, ...paid, reference: referenceAmong(others) };
}

function readOpening({ accounts, data }: Instruction, payer: string): NonNullable<SolanaPayment["opens"]> {
  const [paidBy, account, owner, mint] = accounts;
  const isOurs = data.length === 1 && data[0] === CREATE_IDEMPOTENT && paidBy?.address === payer;
  if (!isOurs || !account || !owner || !mint) throw new RangeError("Not the opening of an account");
  return { account: account.address, owner: owner.address, mint: mint.address };
}

function referenceAmong([reference, ...others]: Instruction["accounts"]): string | null {
  if (others.length > 0 || reference?.isSigner || reference?.isWritable) throw new RangeError("More accounts");
  return reference?.address ?? null;
}

/** The maximum fee in lamports: for the signatures, and for all compute units that the transaction may use. */
export function highestFee(instructions: Instruction[]): bigint {
  let [units, price] = [DEFAULT_UNITS * BigInt(instructions.length), 0n];
  for (const { program, data } of instructions) {
    if (program !== BUDGET) continue;
    const value = littleEndian(data.subarray(1));
    if (data[0] === 2) units = value;
    else if (data[0] === 3) price = value;
    else throw new RangeError("Not a budget that a payment needs");
  }
  return SIGNATURE_FEE + (units * price + 999_999n) / 1_000_000n;
}

/** Whether `account` is the address derived from this owner, program and mint. A derived address has no key. */
async function isTokenAccountOf(account: string, owner: string, program: string, mint: string): Promise<boolean> {
  const keys = [owner, program, mint, ASSOCIATED].map((text) => fromBase58(text, 32));
  const marker = new TextEncoder().encode("ProgramDerivedAddress");
  const [ownerKey, programKey, mintKey, derivingKey] = keys;
  if (!ownerKey || !programKey || !mintKey || !derivingKey) return false;
  for (let bump = 255; bump >= 0; bump -= 1) {
    const seeds = new Uint8Array([...ownerKey, ...programKey, ...mintKey, bump, ...derivingKey, ...marker]);
    if (toBase58(new Uint8Array(await crypto.subtle.digest("SHA-256", seeds))) === account) return true;
  }
  return false;
}
