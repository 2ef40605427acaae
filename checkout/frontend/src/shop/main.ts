/**
 * `quittance.js`: opens a checkout over a shop's page, or inside it. If the checkout can't be embedded, the script
 * navigates to it.
 *
 * Use the events only to update the page. Ship goods only when the shop's server has received the webhook.
 */

import { CheckoutFrame } from "./frame";
import { Modal } from "./modal";
import { Place } from "./place";
import type { Options, Quittance } from "./quittance";

/** Open the checkout over the page. On a phone, it is full-screen. */
function open(options: Options): { close(): void } {
  return new Modal((events) => new CheckoutFrame(options, events, true), options);
}

/** Show the checkout inside an element. The checkout replaces the element's content, and sets its height. */
function mount(element: Element | string, options: Options): { unmount(): void } {
  const target = typeof element === "string" ? document.querySelector(element) : element;
  if (!target) throw new TypeError(`Quittance.mount: there is no element ${String(element)}`);
  return new Place(target, (events) => new CheckoutFrame(options, events, false), options);
}

const quittance: Quittance = Object.freeze({ open, mount, version: 1 });
Object.defineProperty(window, "Quittance", { value: quittance, configurable: true });
