/** The JSON of the public API, as the page receives it. */

export interface Amount {
  raw: string;
  formatted: string;
  decimals: number;
}

export interface Token {
  id: number;
  symbol: string;
  name: string;
  decimals: number;
  contract_address: string;
}

export interface Chain {
  id: number;
  name: string;
  chain_type: string;
  network: string;
  native_symbol: string;
  explorer_url: string | null;
}

export interface Merchant {
  name: string;
  support_url: string | null;
  support_email: string | null;
}

export interface Payment {
  id: string;
  status: string;
  chain_id: number;
  transaction_hash: string;
  explorer_url: string | null;
  amount_received: Amount | null;
  confirmations: number;
  confirmations_required: number | null;
  status_detail: string | null;
  failure_code: string | null;
  failure_message: string | null;
  retries_left: number;
  created_at: string;
}

export interface Checkout {
  id: string;
  status: string;
  amount: Amount;
  amount_paid: Amount;
  amount_remaining: Amount;
  amount_overpaid: Amount;
  token: Token;
  chain_id: number;
  chain: Chain;
  recipient_address: string;
  expires_at: string;
  server_time: string;
  paid_late: boolean;
  payment_url: string;
  cancel_url: string | null;
  redirect_url: string | null;
  merchant: Merchant;
  payments: Payment[];
  is_final: boolean;
  poll_in_ms: number;
}

export interface Route {
  id: string;
  type: string;
  from: { chain_id: number; amount: Amount };
  gas: { amount?: Amount } | null;
  expires_at: string;
}

export interface RouteAnswer {
  routes: Route[];
  reason?: { code: string; message: string };
}

export interface EvmTransaction {
  chainId: string;
  from: string;
  to: string;
  data?: string;
  value?: string;
  gas?: string;
  maxFeePerGas?: string;
  maxPriorityFeePerGas?: string;
}

/** On Solana a versioned transaction in base64. */
export type UnsignedTransaction = EvmTransaction | string;

export interface BuiltTransaction {
  route_id: string;
  chain_type: string;
  transaction: UnsignedTransaction;
  binding: "reference" | "payer";
  payer_proof: { message: string; expires_at: string } | null;
}

/** A transaction that this browser's wallet sent. */
export interface SentTransaction {
  transaction_hash: string;
  chain_id: number;
  route_id?: string;
}
