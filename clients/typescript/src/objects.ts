/**
 * The API's objects, field by field as in the API reference.
 *
 * New fields and new enumeration values are not a breaking change: handle those that you know, and ignore others.
 * Times are RFC 3339 strings in UTC. Amounts are strings, because numbers would lose digits.
 */

/** One of the known values, or one that is newer than this package. */
export type OpenEnum<Known extends string> = Known | (string & {});

export type PaymentRequestStatus = OpenEnum<"active" | "completed" | "expired" | "cancelled">;
export type PaymentStatus = OpenEnum<"pending" | "processing" | "completed" | "failed">;
export type DeliveryStatus = OpenEnum<"pending" | "delivered" | "failed">;
export type EventType = OpenEnum<
  | "payment.succeeded"
  | "payment.failed"
  | "payment.expired"
  | "payment.partially_paid"
  | "payment.overpaid"
  | "payment.reorged"
  | "refund.completed"
  | "refund.failed"
>;
export type Outcome = OpenEnum<
  | "paid"
  | "underpaid"
  | "overpaid"
  | "paid_late"
  | "pending"
  | "processing"
  | "sped_up"
  | "failed"
  | "not_bound"
  | "ambiguous"
  | "not_verifiable"
  | "not_found"
  | "timed_out"
  | "replaced"
  | "expired"
  | "reorged"
  | "restored"
  | "swap_completed"
  | "swap_partial"
  | "swap_failed"
  | "authorization_expired"
  | "authorization_used"
  | "bridge_refunded"
  | "refunded"
  | "refund_requires_address"
  | "refund_claimed"
  | "refund_ready"
  | "refund_processing"
  | "refund_completed"
  | "refund_failed"
  | "refund_cancelled"
>;

/** An amount of a token. `raw` is in its smallest unit; `formatted` is in whole units, with all `decimals` digits. */
export interface Amount {
  raw: string;
  formatted: string;
  decimals: number;
}

export interface Chain {
  id: number;
  name: string;
  chain_type: OpenEnum<"evm" | "solana">;
  is_active: boolean;
}

/** A token of a chain. Ids differ between deployments: look yours up by its contract address (empty: the chain's coin). */
export interface Token {
  id: number;
  symbol: string;
  name: string;
  decimals: number;
  contract_address: string;
}

/** A currency that a price can be in. */
export interface Currency {
  /** Its ISO 4217 code. */
  code: string;
  sources: string[];
  /** Whether two independent sources agree on its rate now. */
  is_available: boolean;
}

/** A price in a currency (ISO 4217). */
export interface Price {
  currency: string;
  /** A decimal string with the currency's fraction digits. */
  amount: string;
}

/** The exchange rate at which a price was converted. */
export interface Rate {
  /** Units of `currency` for one token, a decimal string. */
  value: string;
  currency: string;
  token: string;
  sources: string[];
  observed_at: string;
}

/** The value of a payment in the merchant's reporting currency. */
export interface Value {
  currency: string;
  amount: string;
  rate: string;
  observed_at: string;
  /** The rate was observed more than two minutes after the completion. */
  estimated: boolean;
}

/** One transaction for a payment request. */
export interface Payment {
  id: string;
  object: "payment";
  payment_request: string;
  status: PaymentStatus;
  type: OpenEnum<"direct" | "swap">;
  chain_id: number;
  /** Null for native coin that arrived at the deposit address, unless the hash was submitted. */
  transaction_hash: string | null;
  /** The transactions that this one replaced with the same effect (a speed-up), oldest first. */
  replaced_hashes: string[];
  from_address: string | null;
  /** The token that the customer paid with; null until known. */
  token: Token | null;
  /** The amount in that token; null until known. */
  amount: Amount | null;
  /** The credited amount in the requested token; null until verified. */
  amount_received: Amount | null;
  /** The value of `amount_received`; null until a rate is known. */
  value: Value | null;
  destination_chain_id: number;
  destination_transaction_hash: string | null;
  confirmations: number;
  /** Null if the chain's finality decides. */
  confirmations_required: number | null;
  explorer_url: string | null;
  bound_by: OpenEnum<"reference" | "payer" | "provider" | "address" | "authorization" | "manual"> | null;
  /** When the sender signed for this request. If that was in time, the payment is bound; otherwise, you can accept it. */
  sender_signed_at: string | null;
  /** A reorganisation removed its block after completion. Review the payment manually. */
  reorged: boolean;
  provider: string | null;
  provider_status: string | null;
  /** A sentence for display: what the payment waits for, or why it failed. */
  status_detail: string;
  attempts: number;
  retries_left: number;
  failure_code: string | null;
  failure_message: string | null;
  created_at: string;
  completed_at: string | null;
  failed_at: string | null;
  /** The sandbox made it: no money moved. */
  is_simulated: boolean;
  /** The payer signed the transfer; the operator's account sends it and pays the fee. */
  sponsored: boolean;
}

/** A page on which any number of customers can pay. Each gets a payment request. */
export interface PaymentLink {
  id: string;
  object: "payment_link";
  code: string;
  /** The page's URL. */
  url: string;
  name: string;
  is_active: boolean;
  token: Token;
  chain_id: number;
  recipient_address: string;
  /** Null with a price or an open amount. */
  amount: Amount | null;
  price: Price | null;
  open_amount: { min: Amount; max: Amount | null } | null;
  description: string | null;
  metadata: Record<string, string>;
  redirect_url: string | null;
  max_payments: number | null;
  expires_at: string | null;
  requests_count: number;
  /** Requests that are completed, or active and paid in part. */
  payments_count: number;
  created_at: string;
}

export type RefundStatus = OpenEnum<"requires_address" | "ready" | "processing" | "completed" | "failed" | "cancelled">;

/** Money that you send back to a customer. You sign it on `refund_url`, or with `refunds.build`. */
export interface Refund {
  id: string;
  object: "refund";
  payment_request: string;
  payment_id: string | null;
  status: RefundStatus;
  amount: Amount;
  chain_id: number;
  token: Token;
  /** The customer's wallet; null until there is one. */
  recipient_address: string | null;
  /** Who set the address. */
  address_source: OpenEnum<"merchant" | "customer"> | null;
  reason: string | null;
  /** The URL of the page where you sign; null until an address is set. */
  refund_url: string | null;
  /** The URL of the page where the customer sets an address. */
  claim_url: string;
  transaction_hash: string | null;
  explorer_url: string | null;
  confirmations: number;
  failure_code: string | null;
  failure_message: string | null;
  created_at: string;
  completed_at: string | null;
  /** The sandbox simulated it, or a payment of the refunded request. */
  is_simulated: boolean;
}

/** A simulated, unsigned transaction for your wallet. */
export interface BuiltTransaction {
  route_id: string;
  chain_type: OpenEnum<"evm" | "solana">;
  /** On EVM an object for `eth_sendTransaction`; on Solana a transaction in base64. */
  transaction: Record<string, string> | string;
  binding: OpenEnum<"reference" | "payer" | "provider">;
  payer_proof: { message: string; expires_at: string } | null;
  expires_at: string;
}

/** A payment request: send the customer to `payment_url`. */
export interface PaymentRequest {
  id: string;
  object: "payment_request";
  shortcode: string;
  status: PaymentRequestStatus;
  amount: Amount;
  amount_paid: Amount;
  amount_remaining: Amount;
  amount_overpaid: Amount;
  /** The verified amount that refunds returned to the customer. */
  amount_refunded: Amount;
  /** The amount that open refunds reserve. */
  amount_refund_open: Amount;
  /** The requested price in a currency; null if you requested a token amount. */
  price: Price | null;
  rate: Rate | null;
  chain_id: number;
  token: Token;
  recipient_address: string;
  /** An address of this request alone, for payments from any wallet or exchange; null until it is requested. */
  deposit_address: string | null;
  payment_url: string;
  redirect_url: string | null;
  cancel_url: string | null;
  webhook_url: string | null;
  /** Your own reference. */
  external_id: string | null;
  description: string | null;
  metadata: Record<string, string>;
  /** The id of the payment link that created it; null without one. */
  payment_link: string | null;
  references: boolean;
  /** The transfer that completed it was mined after `expires_at`. */
  paid_late: boolean;
  expires_at: string;
  created_at: string;
  completed_at: string | null;
  cancelled_at: string | null;
  expired_at: string | null;
  /** The sandbox simulated a payment of it or its expiry. */
  is_simulated: boolean;
  /** All refunds, newest first. */
  refunds: Refund[];
  /** The newest 20 payments; absent in lists and right after creation. */
  payments?: Payment[];
}

/** This merchant's webhook endpoint; all fields are null if there is none. */
export interface WebhookConfiguration {
  object: "webhook_configuration";
  url: string | null;
  /** `whsec_…`: store it like a password. */
  secret: string | null;
  is_enabled: boolean | null;
  enabled_events: EventType[] | null;
  created_at: string | null;
  updated_at: string | null;
  /** The time until which the previous secret also signs; null if it doesn't. */
  previous_secret_expires_at: string | null;
  disabled_reason: string | null;
}

/** The result of a test event; `error` explains why it was not `delivered`. */
export interface WebhookTest {
  event_id: string;
  delivered: boolean;
  status_code: number | null;
  duration_ms: number | null;
  error: string | null;
}

/** The `data.object` of an event. For refunds, `object` is `refund`, and `id` and `amount` are the refund's. */
export interface PaymentEventObject {
  /** The payment's id; null if a request expired without a payment. */
  id: string | null;
  /**
   * The amount that this payment delivered, in base units of the requested token. In JSON it is a number,
   * which can be too large for JavaScript; this package returns the exact digits, as in `amount_details`.
   */
  amount: string;
  /** The requested token's symbol. */
  currency: string;
  status: OpenEnum<"succeeded" | "failed" | "expired" | "partially_paid" | "overpaid" | "reorged" | "completed">;
  /** The request's `external_id`. */
  reference: string | null;
  payment_request: string;
  shortcode: string;
  token: Omit<Token, "name">;
  chain_id: number;
  transaction_hash: string | null;
  amount_details: Amount;
  request_amount: Amount;
  /** The amount paid for the whole request. */
  amount_paid: Amount;
  /** The amount that the whole request still needs, net of refunds. */
  amount_remaining: Amount;
  /** The amount overpaid for the whole request, net of refunds. */
  amount_overpaid: Amount;
  amount_refunded: Amount;
  amount_refund_open: Amount;
  request_status: PaymentRequestStatus;
  metadata: Record<string, string>;
  /** The id of the payment link that created the request; null without one. */
  payment_link: string | null;
  /** The sandbox simulated the payment or refund: no money moved. */
  is_simulated: boolean;
  /** Only in `payment.failed` and `refund.failed`. */
  failure_code?: string | null;
  failure_message?: string | null;
  /** Only in `payment.reorged`: false if the transaction is in the chain again. */
  reorged?: boolean;
  /** This field and those after it are only in events of refunds. */
  object?: "refund";
  payment_id?: string | null;
  recipient_address?: string;
  address_source?: OpenEnum<"merchant" | "customer">;
  reason?: string | null;
  refund_url?: string | null;
  claim_url?: string;
  explorer_url?: string | null;
  confirmations?: number;
  created_at?: string;
  completed_at?: string | null;
  /** True in a test event. */
  test?: boolean;
}

/** An event. The same event can arrive more than once: handle each `id` once. */
export interface Event {
  id: string;
  type: EventType;
  /** Unix seconds. */
  created: number;
  data: { object: PaymentEventObject };
}

/** An attempt to deliver an event. */
export interface DeliveryAttempt {
  number: number;
  url: string;
  started_at: string;
  /** Null while it is in progress. */
  duration_ms: number | null;
  status_code: number | null;
  error: string | null;
  response_excerpt: string | null;
}

/** The delivery of one event to one URL. */
export interface Delivery {
  id: string;
  object: "webhook_delivery";
  event_id: string;
  type: EventType;
  url: string | null;
  status: DeliveryStatus;
  attempt_count: number;
  next_attempt_at: string | null;
  is_test: boolean;
  created_at: string;
  finished_at: string | null;
  redelivered_at: string | null;
  /** All attempts, oldest first; absent in lists. */
  attempts?: DeliveryAttempt[];
}
