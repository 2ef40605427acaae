/** Quittance for TypeScript and JavaScript: request crypto payments and verify webhooks. */
export { Client, type ClientOptions } from "./client.js";
export * as deposits from "./deposits.js";
export {
  APIConnectionError,
  APIError,
  AuthenticationError,
  IdempotencyError,
  InvalidRequestError,
  PermissionDeniedError,
  QuittanceError,
  RateLimitError,
  SignatureVerificationError,
  UpstreamError,
  type ErrorDetail,
} from "./errors.js";
export type * from "./objects.js";
export { List, Page, type ListParams } from "./pages.js";
export type { PaymentLinkCreateParams, PaymentLinkListParams } from "./resources/payment-links.js";
export type { PaymentRequestByLinkParams, PaymentRequestCreateParams, PaymentRequestListParams } from "./resources/payment-requests.js";
export type { RefundCreateParams, RefundListParams } from "./resources/refunds.js";
export type { SimulateOptions } from "./resources/sandbox.js";
export type { DeliveryListParams, EventListParams, RedeliverFailedParams, WebhookUpdateParams } from "./resources/webhooks.js";
export type { RequestOptions } from "./transport.js";
export { VERSION } from "./version.js";
export * as webhooks from "./webhooks.js";
