/**
 * Types of `quittance.js` for shops that use TypeScript. Copy this file into your project.
 *
 * Use the events only to update the page. Ship goods only when your server has received the webhook.
 */

export interface Progress {
  paymentRequestId: string;
  /** `active`, `partly_paid`, `processing`, `completed`, `expired` or `cancelled`. Ignore other values. */
  status: string;
}

export interface Options {
  /** `payment_url` of the payment request. */
  paymentUrl: string;
  /** A language tag such as `de`. The default is the browser's language. */
  language?: string;
  /** Called when the checkout has loaded, and on each change of the status. */
  onStatus?: (progress: Progress) => void;
  /**
   * Called once, when the request is paid in full. Use it to show a thank-you page. Only the webhook proves the
   * payment.
   */
  onCompleted?: (progress: Progress) => void;
  /** Called when the checkout is closed or unmounted. The argument is null if it never loaded. */
  onClosed?: (progress: Progress | null) => void;
  /** Replacements for the script's texts. */
  labels?: Partial<Labels>;
}

export interface Labels {
  /** The accessible name of the dialog and the frame. */
  title: string;
  close: string;
  opening: string;
  openPage: string;
  /** The message if the checkout can't be shown inside the shop's page. */
  elsewhere: string;
}

export interface Quittance {
  /**
   * Opens the checkout over the page. On a phone, it is full-screen. Throws TypeError if `paymentUrl` is not a web
   * address.
   */
  open(options: Options): { close(): void };
  /**
   * Shows the checkout inside an element, and replaces the element's content. Throws TypeError if there is no such
   * element.
   */
  mount(element: Element | string, options: Options): { unmount(): void };
  /** The version of this interface. Only an incompatible change increases it. */
  readonly version: 1;
}

declare global {
  interface Window {
    /** Missing if the script could not be loaded. */
    Quittance?: Quittance;
  }
}
