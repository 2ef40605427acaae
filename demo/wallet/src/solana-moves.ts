import { littleEndian, type Message } from "../../../checkout/frontend/src/solana/message";

const SYSTEM = "11111111111111111111111111111111";
const BUDGET = "ComputeBudget111111111111111111111111111111";
export const MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";
const TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
const TRANSFER = 2n;
const TRANSFER_CHECKED = 12;

/** The amount that leaves the wallet, the recipient, and the memo. */
export interface Moves {
  /** Transfers of at most one token. */
  token: { mint: string; amount: bigint; decimals: number; to: string } | null;
  coins: { lamports: bigint; to: string } | null;
  note: string | null;
}

/** Decode a transaction that only moves money and has memos. Return null for any other transaction. */
export function readMoves({ payer, instructions }: Message): Moves | null {
  const moves: Moves = { token: null, coins: null, note: null };
  for (const { program, accounts, data } of instructions) {
    const [first, second, third, fourth] = accounts;
    if (program === BUDGET) continue;
    if (program === MEMO && accounts.length === 0 && moves.note === null) {
      moves.note = new TextDecoder().decode(data).replace(/[^\x20-\x7e]/g, "?");
    } else if (program === SYSTEM && data.length === 12 && littleEndian(data.subarray(0, 4)) === TRANSFER) {
      if (first?.address !== payer || !second || (moves.coins && moves.coins.to !== second.address)) return null;
      const lamports = (moves.coins?.lamports ?? 0n) + littleEndian(data.subarray(4));
      moves.coins = { lamports, to: second.address };
    } else if (program === TOKEN && data.length === 10 && data[0] === TRANSFER_CHECKED && moves.token === null) {
      if (!second || !third || fourth?.address !== payer) return null;
      const amount = littleEndian(data.subarray(1, 9));
      moves.token = { mint: second.address, amount, decimals: data[9] ?? 0, to: third.address };
    } else {
      return null;
    }
  }
  return moves.token || moves.coins ? moves : null;
}
