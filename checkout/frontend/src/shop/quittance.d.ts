/**
 * Types of `quittance.js`, for shops that are written in TypeScript: keep a copy beside your sources.
 *
 * What it reports is good for showing a page. Goods are sent when your server has its webhook.
 */

export interface Progress {
  paymentRequestId: string;
  /** `active`, `partly_paid`, `processing`, `completed`, `expired` or `cancelled`; pass over others. */
  status: string;
}

export interface Options {
  /** `payment_url` of the payment request. */
  paymentUrl: string;
  /** A language tag such as `de`; without it the browser's language is taken. */
  language?: string;
  /** When the checkout is there, and at each change. */
  onStatus?: (progress: Progress) => void;
  /** Once, when the request is paid in full. The page may thank; only the webhook proves. */
  onCompleted?: (progress: Progress) => void;
  /** When it was closed or unmounted; null if it never came up. */
  onClosed?: (progress: Progress | null) => void;
  /** Other words than the ones that the script has. */
  labels?: Partial<Labels>;
}

export interface Labels {
  /** What the dialog and the frame are called. */
  title: string;
  close: string;
  opening: string;
  openPage: string;
  /** That the checkout can't be shown inside the shop's page. */
  elsewhere: string;
}

export interface Quittance {
  /** Opens the checkout over the page, full-screen on a phone. Throws TypeError for what is no web address. */
  open(options: Options): { close(): void };
  /** Shows the checkout inside an element, which is emptied. Throws TypeError where there is no such element. */
  mount(element: Element | string, options: Options): { unmount(): void };
  /** Of this interface: what is written for 1 goes on working while it is 1. */
  readonly version: 1;
}

declare global {
  interface Window {
    /** Absent where the script did not come. */
    Quittance?: Quittance;
  }
}
