/** The wallet, the account and the prompt of a transaction or a batch, and the estimate of its route. */
export interface Sender {
  wallet: string;
  account: string;
  prompt: number;
  seconds: number | null;
}
