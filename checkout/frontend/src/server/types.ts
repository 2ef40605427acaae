/** The JSON of the public API, as the page receives it. */

export interface Amount {
  raw: string;
  formatted: string;
  decimals: number;
}

export interface Token {
  /** Null for a token outside the catalogue. Use its address instead. */
  id: number | null;
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
  /** A public node. The page sends it to wallets that don't know the network yet. */
  wallet_rpc_url?: string | null;
  /** Our logo of the chain. Only the page's data has logos. */
  logo?: string | null;
}

export interface Merchant {
  name: string;
  support_url: string | null;
  support_email: string | null;
}

export interface Payment {
  id: string;
  status: string;
  type: string;
  chain_id: number;
  /** Null for native coin that arrived at the deposit address. Also null for a sponsored payment before it is sent. */
  transaction_hash: string | null;
  /** The hashes of the transactions that this one replaced, and the id of a contract account's proposal. */
  replaced_hashes?: string[];
  explorer_url: string | null;
  destination_chain_id: number;
  destination_transaction_hash: string | null;
  destination_explorer_url?: string | null;
  provider: string | null;
  provider_status: string | null;
  provider_url?: string | null;
  /** The sent amount, or null while it is unknown. */
  amount: Amount | null;
  amount_received: Amount | null;
  /** When the sender signed for this request, after the payment was sent. Null if there is no such signature. */
  sender_signed_at: string | null;
  /** Whether a node knows the transaction. */
  is_seen: boolean;
  /** Whether the service sends the transfer, which the payer has signed. Missing in responses of earlier releases. */
  sponsored?: boolean;
  /** Whether the transaction still needs other signers of the wallet. Missing in responses of earlier releases. */
  is_awaiting_signers?: boolean;
  /** Whether the payment is identified as a payment of this request. */
  is_bound: boolean;
  /** The failure code that the payment will have when its block is confirmed. Null if the payment won't fail. */
  likely_failure: string | null;
  confirmations: number;
  confirmations_required: number | null;
  /** The confirmations of the delivery, if it is a separate transaction. */
  destination_confirmations: number | null;
  destination_confirmations_required: number | null;
  status_detail: string | null;
  failure_code: string | null;
  failure_message: string | null;
  retries_left: number;
  created_at: string;
}

/** An open or a completed refund. */
export interface Refund {
  status: string;
  amount: Amount;
}

export interface Checkout {
  shortcode: string;
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
  /** Missing in responses of earlier releases. */
  refunds?: Refund[];
  /** Whether no real money is involved, because the deployment is for tests or a payment is simulated. */
  is_test: boolean;
  /** Whether the requested token and its chain are active. Missing in responses of earlier releases. */
  is_available?: boolean;
  /** Null until the page has requested the address. Also null if the page may not show it. */
  deposit_address?: string | null;
  /** Whether this deployment offers payments with other tokens. */
  pay_with?: { is_routed: boolean };
  is_final: boolean;
  poll_in_ms: number;
}

export interface RouteSide {
  chain_id: number;
  chain: Chain;
  token: Token;
  amount: Amount;
}

export interface RouteFee {
  name: string;
  token: { symbol: string; contract_address?: string; chain_id?: number };
  amount: Amount | null;
  usd: string | null;
  included: boolean;
}

export interface RouteStep {
  type: string;
  chain_id: number;
  /** The name of the bridge or the exchange. */
  tool?: string | null;
  /** The contract that the wallet's transaction calls. */
  contract_address?: string | null;
  /** The contract that needs an approval to spend the token. */
  spender?: string | null;
}

export interface Route {
  id: string;
  type: string;
  from: RouteSide & { usd?: string | null };
  to: RouteSide & { amount_min: Amount; usd?: string | null };
  fees: RouteFee[];
  gas: { token?: { symbol: string }; amount?: Amount | null; usd?: string | null } | null;
  duration_seconds: number | null;
  steps: RouteStep[];
  provider: string | null;
  tags: string[];
  warnings?: { code: string }[];
  /** Whether another account sends the transfer and pays the network fee. Missing in responses of earlier releases. */
  sponsored?: boolean;
  expires_at: string;
}

export interface RouteAnswer {
  routes: Route[];
  reason?: { code: string; message: string };
}

/** A token that a wallet holds, in the responses of POST …/balances/essential and POST …/discover-wallet-tokens. */
export interface Held {
  chain_id: number;
  token: Token;
  balance: Amount;
  usd: string | null;
  sufficient?: boolean;
  is_requested?: boolean;
  logo_url?: string | null;
}

export interface Unavailable {
  chain_id: number;
  code: string;
}

export interface Approval {
  approval_required: boolean;
  spender: string | null;
  token: Token;
  /** The current allowance of the spender. */
  allowance: Amount;
  required: Amount;
  transactions: EvmTransaction[];
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

/** On Solana, this is a versioned transaction in base64. */
export type UnsignedTransaction = EvmTransaction | string;

/** A transfer as EIP-712 typed data (EIP-3009). */
export interface TypedData {
  types: unknown;
  primaryType: string;
  domain: Readonly<Record<string, unknown>>;
  message: Readonly<Record<string, unknown>>;
}

export interface BuiltTransaction {
  route_id: string;
  chain_type: string;
  /** Null if the payer signs `typed_data` instead. */
  transaction: UnsignedTransaction | null;
  binding: "reference" | "payer" | "authorization";
  payer_proof: { message: string; expires_at: string } | null;
  typed_data?: TypedData | null;
}

/** The payer's signature of a transfer that another account sends. */
export type Authorization = { signature: string } | { transaction: string };

/** A transaction that this browser's wallet sent. */
export interface SentTransaction {
  transaction_hash: string;
  chain_id: number;
  route_id?: string;
}
