/**
 * The API's objects. The API reference describes each field.
 *
 * The API may get new fields and new values of enumerations, so ignore those that you don't know. Times are RFC 3339
 * strings in UTC. Amounts are strings, because numbers would lose digits.
 */

/** One of the known values, or a value that is newer than this package. */
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

/**
 * An amount of a token. `raw` is in the token's smallest unit. `formatted` is in whole units, with all `decimals`
 * digits.
 */
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

/**
 * A token of a chain. Ids differ between deployments, so look up the id by the contract address. The chain's coin has
 * an empty contract address.
 */
export interface Token {
  id: number;
  symbol: string;
  name: string;
  decimals: number;
  contract_address: string;
}

/** A currency for prices. */
export interface Currency {
  /** The ISO 4217 code. */
  code: string;
  sources: string[];
  /** Whether two independent sources now agree on the rate. */
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
  /** Units of `currency` for one token, as a decimal string. */
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
  /** Whether the rate was observed more than two minutes after the completion. */
  estimated: boolean;
}

/** A transaction that pays a payment request. */
export interface Payment {
  id: string;
  object: "payment";
  payment_request: string;
  status: PaymentStatus;
  type: OpenEnum<"direct" | "swap">;
  chain_id: number;
  /** Null for native coin that arrived at the deposit address, until the hash is submitted. */
  transaction_hash: string | null;
  /** The hashes of the transactions that this one replaced, oldest first. A speed-up replaces a transaction. */
  replaced_hashes: string[];
  from_address: string | null;
  /** The token with which the customer paid. Null until it is known. */
  token: Token | null;
  /** The amount of `token`. Null until it is known. */
  amount: Amount | null;
  /** The credited amount in the requested token. Null until it is verified. */
  amount_received: Amount | null;
  /** The value of `amount_received`. Null until a rate is known. */
  value: Value | null;
  destination_chain_id: number;
  destination_transaction_hash: string | null;
  confirmations: number;
  /** Null if the chain's finality decides. */
  confirmations_required: number | null;
  explorer_url: string | null;
  bound_by: OpenEnum<"reference" | "payer" | "provider" | "address" | "authorization" | "manual"> | null;
  /** When the sender signed for this request. A signature in time binds the payment. After that, you can accept it. */
  sender_signed_at: string | null;
  /** A reorganisation removed the payment's block after completion. Review the payment manually. */
  reorged: boolean;
  provider: string | null;
  provider_status: string | null;
  /** A sentence for display: the next step, or the reason of a failure. */
  status_detail: string;
  attempts: number;
  retries_left: number;
  failure_code: string | null;
  failure_message: string | null;
  created_at: string;
  completed_at: string | null;
  failed_at: string | null;
  /** The sandbox simulated this payment. No money moved. */
  is_simulated: boolean;
  /** The payer signed the transfer. The operator's account sends it and pays the fee. */
  sponsored: boolean;
}

/** A page where many customers can pay. Each customer gets a payment request. */
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
  /** Null if the link has a price or an open amount. */
  amount: Amount | null;
  price: Price | null;
  open_amount: { min: Amount; max: Amount | null } | null;
  description: string | null;
  metadata: Record<string, string>;
  redirect_url: string | null;
  max_payments: number | null;
  expires_at: string | null;
  requests_count: number;
  /** The number of requests that are completed, or active and paid in part. */
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
  /** The customer's wallet. Null until it is set. */
  recipient_address: string | null;
  /** Whether you or the customer set the address. */
  address_source: OpenEnum<"merchant" | "customer"> | null;
  reason: string | null;
  /** The URL of the page where you sign. Null until an address is set. */
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
  /** The sandbox simulated the refund, or a payment of the refunded request. */
  is_simulated: boolean;
}

/** An unsigned transaction for your wallet. The service has simulated it. */
export interface BuiltTransaction {
  route_id: string;
  chain_type: OpenEnum<"evm" | "solana">;
  /** On EVM, an object for `eth_sendTransaction`. On Solana, a transaction in base64. */
  transaction: Record<string, string> | string;
  binding: OpenEnum<"reference" | "payer" | "provider">;
  payer_proof: { message: string; expires_at: string } | null;
  expires_at: string;
}

/** A payment request. Send the customer to `payment_url`. */
export interface PaymentRequest {
  id: string;
  object: "payment_request";
  shortcode: string;
  status: PaymentRequestStatus;
  amount: Amount;
  amount_paid: Amount;
  amount_remaining: Amount;
  amount_overpaid: Amount;
  /** The amount that the customer got back by refunds, as verified on the chain. */
  amount_refunded: Amount;
  /** The amount that open refunds reserve. */
  amount_refund_open: Amount;
  /** The requested price in a currency. Null if you requested an amount of the token. */
  price: Price | null;
  rate: Rate | null;
  chain_id: number;
  token: Token;
  recipient_address: string;
  /**
   * An address only for this request. Customers can pay to it from any wallet or exchange. Null until it is requested.
   */
  deposit_address: string | null;
  payment_url: string;
  redirect_url: string | null;
  cancel_url: string | null;
  webhook_url: string | null;
  /** Your own reference. */
  external_id: string | null;
  description: string | null;
  metadata: Record<string, string>;
  /** The id of the payment link that created this request, or null. */
  payment_link: string | null;
  references: boolean;
  /** The transfer that completed the request was mined after `expires_at`. */
  paid_late: boolean;
  expires_at: string;
  created_at: string;
  completed_at: string | null;
  cancelled_at: string | null;
  expired_at: string | null;
  /** The sandbox simulated a payment of the request, or its expiry. */
  is_simulated: boolean;
  /** All refunds, newest first. */
  refunds: Refund[];
  /** The newest 20 payments. Missing in lists and right after creation. */
  payments?: Payment[];
}

/** This merchant's webhook endpoint. If there is none, all fields are null. */
export interface WebhookConfiguration {
  object: "webhook_configuration";
  url: string | null;
  /** `whsec_…`. Store it like a password. */
  secret: string | null;
  is_enabled: boolean | null;
  enabled_events: EventType[] | null;
  created_at: string | null;
  updated_at: string | null;
  /** The time until which the previous secret also signs. Null if it doesn't sign. */
  previous_secret_expires_at: string | null;
  disabled_reason: string | null;
}

/** The result of a test event. If it was not `delivered`, `error` explains why. */
export interface WebhookTest {
  event_id: string;
  delivered: boolean;
  status_code: number | null;
  duration_ms: number | null;
  error: string | null;
}

/**
 * The `data.object` of an event. In events of refunds, `object` is `refund`, and `id` and `amount` are those of the
 * refund.
 */
export interface PaymentEventObject {
  /** The payment's id. Null if a request expired without a payment. */
  id: string | null;
  /**
   * The delivered amount of this payment, in base units of the requested token. In JSON, it is a number, and can be too
   * large for JavaScript. So this package returns the exact digits, as in `amount_details`.
   */
  amount: string;
  /** The symbol of the requested token. */
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
  /** The paid amount of the whole request. */
  amount_paid: Amount;
  /** The remaining amount of the whole request, net of refunds. */
  amount_remaining: Amount;
  /** The overpaid amount of the whole request, net of refunds. */
  amount_overpaid: Amount;
  amount_refunded: Amount;
  amount_refund_open: Amount;
  request_status: PaymentRequestStatus;
  metadata: Record<string, string>;
  /** The id of the payment link that created the request, or null. */
  payment_link: string | null;
  /** The sandbox simulated the payment or refund. No money moved. */
  is_simulated: boolean;
  /** Present only in `payment.failed` and `refund.failed`. */
  failure_code?: string | null;
  failure_message?: string | null;
  /** Only in `payment.reorged`. False if the transaction is in the chain again. */
  reorged?: boolean;
  /** `object` and the following fields are only in events of refunds. */
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

/** An event. The same event can arrive more than once, so handle each `id` once. */
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
  /** All attempts, oldest first. Missing in lists. */
  attempts?: DeliveryAttempt[];
}
