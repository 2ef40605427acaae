/**
 * Where a transaction or a batch comes from: the wallet, the account and the prompt. `seconds` is the estimate of its
 * route.
 */
export interface Sender {
  wallet: string;
  account: string;
  prompt: number;
  seconds: number | null;
}
