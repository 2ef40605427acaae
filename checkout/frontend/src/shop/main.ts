/**
 * `quittance.js`: opens a checkout over a shop's page, or in it. The plain link to the checkout stays the default;
 * where a frame is not allowed or not possible, this script leads there, too.
 *
 * What it reports is good for showing a page. Goods are sent when the shop's server has its webhook.
 */

import { CheckoutFrame } from "./frame";
import { Modal } from "./modal";
import { Place } from "./place";
import type { Options, Quittance } from "./quittance";

/** Opens the checkout over the page, full-screen on a phone. */
function open(options: Options): { close(): void } {
  return new Modal((events) => new CheckoutFrame(options, events, true), options);
}

/** Shows the checkout inside an element, which is emptied, and as high as its content. */
function mount(element: Element | string, options: Options): { unmount(): void } {
  const found = typeof element === "string" ? document.querySelector(element) : element;
  if (!found) throw new TypeError(`Quittance.mount: there is no element ${String(element)}`);
  return new Place(found, (events) => new CheckoutFrame(options, events, false), options);
}

const quittance: Quittance = Object.freeze({ open, mount, version: 1 });
Object.defineProperty(window, "Quittance", { value: quittance, configurable: true });
