/** The wallet, the account and the prompt that a transaction or a batch comes from, and its route's estimate. */
export interface Sender {
  wallet: string;
  account: string;
  prompt: number;
  seconds: number | null;
}
