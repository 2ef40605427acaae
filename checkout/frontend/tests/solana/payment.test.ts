import { expect, test } from "vitest";
import { fromBase58, toBase58 } from "../../src/solana/base58";
import { highestFee, matchesShown, readPayment, readSigned } from "../../src/solana/payment";
import type { Shown } from "../../src/wallets/wallet";
import { SOLANA, USDC } from "../fixtures";

const PAYER = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9";
const OWNER = "9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu";
const OTHER = "GyGKxMyg1p9SsHfm15MkNUu1u9TN2JtTspcdmrtGUdse";
const REFERENCE = "EdmxWPmx2WH6WgFfTdu9xfkYf3k1g5wD1zccTVySEEh1";
const MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
// The token accounts of PAYER, OWNER and OTHER, derived with another implementation.
const SOURCE = "3wvJdyFnGvaMWpbq93NU91SggiVRveULUXL6iX5VZDGP";
const TARGET = "ASZ2TDDNJG2n42TxAezqNNzwWipykHrENDKMCoLKgzup";
const OTHERS = "DNDTCnZkNk358qDFZd9unHtnrc73SsXcpVWtwJJMrR4B";
const SPONSOR = "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV";
const TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
const SYSTEM = "11111111111111111111111111111111";
const BUDGET = "ComputeBudget111111111111111111111111111111";
const ASSOCIATED = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";
const MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";
/** 10.50 USDC from the payer to the owner with the reference, as the `solders` package compiles it. */
const COMPILED =
  "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACAAQADBoqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29cK8kCOGhpAsJh82TGFPHsq0/z4F9YGhwIBT/HU9NN52yMROnTi0H5KqQzBEA7ECRFt9yPict9kQwtNUtP/np+Ewbd9uHXZaGT2cvhRs7reawctIXtX1s3kTqM9YV+/wCpxvp6877brTo9ZfNqq8l0MbG75MLS9uDkfKYCA0UvXWHKk6wXBRhwcdZ7g8f/Dv6BCOjsRTBXXXcmh5Mz29q+fAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQMFAQQCAAUKDKA3oAAAAAAABgA=";

type Step = { program: string; accounts: string[]; data: number[] };

const number = (value: bigint, bytes: number): number[] => Array.from({ length: bytes }, (_, at) => Number((value >> BigInt(8 * at)) & 255n));
const move = (raw: bigint, to = TARGET, more: string[] = [REFERENCE], owner = PAYER): Step => ({
  program: TOKEN,
  accounts: [SOURCE, MINT, to, owner, ...more],
  data: [12, ...number(raw, 8), 6],
});
const coins = (lamports: bigint, to = OWNER): Step => ({ program: SYSTEM, accounts: [PAYER, to, REFERENCE], data: [2, 0, 0, 0, ...number(lamports, 8)] });
const opening = (owner = OWNER, account = TARGET, by = PAYER): Step => ({ program: ASSOCIATED, accounts: [by, account, owner, MINT, SYSTEM, TOKEN], data: [1] });
const memo = (): Step => ({ program: MEMO, accounts: [], data: [...REFERENCE].map((character) => character.charCodeAt(0)) });
const price = (microLamports: bigint): Step => ({ program: BUDGET, accounts: [], data: [3, ...number(microLamports, 8)] });
const units = (count: bigint): Step => ({ program: BUDGET, accounts: [], data: [2, ...number(count, 4)] });

/** An unsigned version 0 transaction of these steps. */
const transaction = (...steps: Step[]): string => compiled([PAYER], steps);

/** The same transaction, with the sponsor as fee payer. */
const sponsored = (...steps: Step[]): string => compiled([SPONSOR, PAYER], steps);

function compiled(signers: string[], steps: Step[]): string {
  const named = [SOURCE, TARGET, OTHERS, OWNER].filter((key) => steps.some(({ accounts }) => accounts.includes(key)));
  const writable = [...signers, ...named];
  const readable = [...new Set(steps.flatMap(({ program, accounts }) => [...accounts, program]))].filter((key) => !writable.includes(key));
  const keys = [...writable, ...readable];
  const bytesOf = (key: string): number[] => [...fromBase58(key, 32)!];
  const body = steps.flatMap(({ program, accounts, data }) => [
    keys.indexOf(program),
    accounts.length,
    ...accounts.map((key) => keys.indexOf(key)),
    data.length,
    ...data,
  ]);
  const header = [0x80, signers.length, signers.length - 1, readable.length];
  const all = [signers.length, ...Array<number>(64 * signers.length).fill(0), ...header, keys.length, ...keys.flatMap(bytesOf), ...Array<number>(32).fill(0), steps.length, ...body, 0];
  return btoa(String.fromCharCode(...all));
}

const USDC_THERE = { ...USDC, contract_address: MINT };
const SOL = { ...USDC, symbol: "SOL", decimals: 9, contract_address: "" };
const tokens: Shown = { kind: "transfer", account: PAYER, chainId: SOLANA, token: USDC_THERE, recipient: OWNER, rawAmount: "10500000" };
const lamports: Shown = { ...tokens, token: SOL, rawAmount: "250000000" };

test.each<[string, string, Shown]>([
  ["token transfer of another implementation", COMPILED, tokens],
  ["token transfer", transaction(move(10_500_000n)), tokens],
  ["token transfer that opens the account", transaction(units(80_000n), price(1_000n), opening(), move(10_500_000n)), tokens],
  ["token transfer from two accounts", transaction(opening(), move(6_000_000n), move(4_500_000n)), tokens],
  ["token transfer with memos", transaction(memo(), move(6_000_000n), memo(), move(4_500_000n)), tokens],
  ["transfer of SOL", transaction(coins(250_000_000n)), lamports],
])("%s as it was reviewed is sent to the wallet", async (_, built, shown) => {
  expect(await matchesShown(built, shown)).toBe(true);
});

test.each<[string, string, Shown]>([
  ["another amount", transaction(move(10_510_000n)), tokens],
  ["another recipient", transaction(move(10_500_000n, OTHERS)), tokens],
  ["another owner of the opened account", transaction(opening(OTHER), move(10_500_000n)), tokens],
  ["another account that it opens", transaction(opening(OTHER, OTHERS), move(10_500_000n)), tokens],
  ["two transfers of different tokens", transaction(move(10_500_000n), coins(1n)), tokens],
  ["two transfers beyond the amount", transaction(move(10_500_000n), move(1n)), tokens],
  ["two recipients", transaction(move(6_000_000n), move(4_500_000n, OTHERS)), tokens],
  ["two references", transaction(move(6_000_000n), move(4_500_000n, TARGET, [OTHER])), tokens],
  ["six transfers", transaction(...Array.from({ length: 6 }, () => move(1_750_000n))), tokens],
  ["two transfers of SOL", transaction(coins(125_000_000n), coins(125_000_000n)), lamports],
  ["another account beside the reference", transaction(move(10_500_000n, TARGET, [REFERENCE, OTHER])), tokens],
  ["an owner that isn't the payer", transaction(move(10_500_000n, TARGET, [REFERENCE], OTHER)), tokens],
  ["a fee beyond any use", transaction(price(1_000_000_000n), move(10_500_000n)), tokens],
  ["SOL in place of the token", transaction(coins(10_500_000n)), tokens],
  ["SOL to another recipient", transaction(coins(250_000_000n, OTHERS)), lamports],
  ["bytes cut short", COMPILED.slice(0, 200), tokens],
  ["bytes behind its end", btoa(`${atob(COMPILED)}\0`), tokens],
  ["no base64", "<b>", tokens],
  ["another payer", COMPILED, { ...tokens, account: OTHER }],
  ["another token", COMPILED, { ...tokens, token: { ...USDC_THERE, contract_address: OTHER } }],
  ["other decimals", COMPILED, { ...tokens, token: { ...USDC_THERE, decimals: 9 } }],
  ["a permission that Solana doesn't have", COMPILED, { ...tokens, kind: "allowance", spender: OWNER }],
])("transaction with %s is not sent", async (_, built, shown) => {
  expect(await matchesShown(built, shown)).toBe(false);
});

const free: Shown = { ...tokens, isSponsored: true };

test.each([
  ["a transfer", sponsored(units(40_000n), price(1_000n), move(10_500_000n))],
  ["a transfer to an account that the sponsor opens", sponsored(opening(OWNER, TARGET, SPONSOR), move(10_500_000n))],
])("%s that another account pays for is signed", async (_, built) => {
  expect(await matchesShown(built, free)).toBe(true);
  expect(readSigned(built, free)).toEqual({ chainId: SOLANA, party: OWNER, contract: MINT, rawAmount: "10500000" });
  // This review shows the fee of another transaction.
  expect(await matchesShown(built, tokens)).toBe(false);
});

test.each<[string, string]>([
  ["another amount", sponsored(move(10_510_000n))],
  ["another recipient", sponsored(move(10_500_000n, OTHERS))],
  ["an account that the payer opens", sponsored(opening(), move(10_500_000n))],
  ["a further transfer", sponsored(move(10_500_000n), coins(1n))],
  ["the sponsor's tokens", sponsored(move(10_500_000n, TARGET, [REFERENCE], SPONSOR))],
  ["the payer alone", transaction(move(10_500_000n))],
  ["a third signer", compiled([SPONSOR, PAYER, OTHER], [move(10_500_000n)])],
  ["another payer", compiled([SPONSOR, OTHER], [move(10_500_000n, TARGET, [REFERENCE], OTHER)])],
])("sponsored transaction with %s is not signed", async (_, built) => {
  expect(await matchesShown(built, free)).toBe(false);
});

test("provider's transaction must be paid by the account", async () => {
  const call: Shown = { kind: "call", account: PAYER, chainId: SOLANA, contract: "", mostCoins: "0" };
  expect(await matchesShown(COMPILED, call)).toBe(true);
  expect(await matchesShown(COMPILED, { ...call, account: OTHER })).toBe(false);
});

test("what the wallet signs names the recipient, not its account", () => {
  expect(readSigned(COMPILED, tokens)).toEqual({ chainId: SOLANA, party: OWNER, contract: MINT, rawAmount: "10500000" });
  expect(readSigned(transaction(coins(7n)), lamports)).toEqual({ chainId: SOLANA, party: OWNER, contract: null, rawAmount: "7" });
});

test("payment is read with its reference and fee", () => {
  const bytes = Uint8Array.from(atob(transaction(units(100_000n), price(20_000n), coins(7n))), (letter) => letter.charCodeAt(0));
  expect(readPayment(bytes)).toMatchObject({ payer: PAYER, amount: 7n, reference: REFERENCE, fee: 7_000n, opens: null });
});

test("budget instruction of another kind is rejected", () => {
  expect(() => highestFee([{ program: BUDGET, accounts: [], data: Uint8Array.of(1) }])).toThrow(RangeError);
});

test.each([
  ["1".repeat(32), 32],
  [PAYER, 32],
])("base58 %s is read and written back", (text, length) => {
  expect(toBase58(fromBase58(text, length)!)).toBe(text);
});

test.each([
  ["0OIl", 3],
  [PAYER, 31],
  [`1${PAYER}`, 32],
  ["", 32],
  ["z".repeat(200), 32],
])("base58 %s is not %i bytes", (text, length) => {
  expect(fromBase58(text, length)).toBeNull();
});
