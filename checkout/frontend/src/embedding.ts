/**
 * The checkout inside a shop's page. The checkout sends the payment's status to the shop's page under two conditions:
 * the merchant has registered the shop's origin, and the shop's page has sent a greeting. Links to the shop open in the
 * shop's window. The checkout also offers to open in a new tab, because many wallets don't work in embedded pages.
 */

import { copy } from "./copy";
import { el } from "./dom";
import { type Hello, isMessage, type CheckoutMessage, VERSION } from "./messages";

type News = { [Type in CheckoutMessage["type"]]: Omit<Extract<CheckoutMessage, { type: Type }>, "quittance"> }[CheckoutMessage["type"]];

const PAYABLE = ["active", "partly_paid"];

export class Embedding {
  readonly isFramed = window.parent !== window;
  private greeter: string | null = null;
  private isClosable = false;
  private status: { status: string; is_busy: boolean } | null = null;
  private lastSent = "";
  private height = 0;
  private readonly wayOut: HTMLElement | null = null;

  constructor(
    private readonly requestId: string,
    private readonly origins: readonly string[],
    page: { panel: HTMLElement; url: string },
  ) {
    if (!this.isFramed) return;
    document.documentElement.dataset.framed = "";
    this.wayOut = wayOut(page.url);
    page.panel.after(this.wayOut);
    window.addEventListener("message", (event) => this.greeted(event));
    document.addEventListener("click", (event) => this.lead(event));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) this.askToClose();
    });
    new ResizeObserver(() => this.measure()).observe(document.body, { box: "border-box" });
  }

  /**
   * Sends the payment's status to the shop's page. `isBusy`: a wallet's prompt is open, so the shop must not close the
   * page.
   */
  tell(status: string, isBusy: boolean): void {
    this.status = { status, is_busy: isBusy };
    if (this.wayOut) this.wayOut.hidden = !PAYABLE.includes(status);
    this.sendStatus();
  }

  private greeted(event: MessageEvent<unknown>): void {
    if (event.source !== window.parent || !this.origins.includes(event.origin)) return;
    if (!isMessage(event.data) || event.data.type !== "hello") return;
    this.greeter = event.origin;
    this.isClosable = (event.data as Hello).closable === true;
    this.lastSent = "";
    this.height = 0;
    this.sendStatus();
    this.measure();
  }

  private sendStatus(): void {
    const now = JSON.stringify(this.status);
    if (!this.greeter || !this.status || now === this.lastSent) return;
    this.lastSent = now;
    this.send({ type: "status", payment_request_id: this.requestId, ...this.status });
  }

  private measure(): void {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (!this.greeter || height === this.height) return;
    this.height = height;
    this.send({ type: "height", height });
  }

  private askToClose(): boolean {
    if (this.greeter && this.isClosable) this.send({ type: "close" });
    return this.isClosable;
  }

  /**
   * In an overlay, the link to leave without paying closes the overlay. Other links to the shop open in the shop's
   * window.
   */
  private lead(event: MouseEvent): void {
    const link = (event.target as Element).closest<HTMLAnchorElement>("a[href]");
    if (!link || link.target || event.defaultPrevented) return;
    if (link.id === "cancel" && this.askToClose()) event.preventDefault();
    else if (!/^https?:$/.test(link.protocol)) return;
    else if (link.closest("#wallet-apps")) link.target = "_blank"; // the checkout stays open, because the app may be missing
    else if (link.origin !== location.origin) link.target = "_top";
    else if (link.pathname !== location.pathname) link.target = "_blank"; // the checkout stays open and still sends the status
  }

  private send(news: News): void {
    if (this.greeter) window.parent.postMessage({ quittance: VERSION, ...news }, this.greeter);
  }
}

function wayOut(address: string): HTMLElement {
  const url = new URL(address);
  const lang = new URLSearchParams(location.search).get("lang");
  if (lang) url.searchParams.set("lang", lang);
  const look = "button button--secondary";
  const link = el("a", { id: "own-tab", class: look, href: url.href, target: "_blank", rel: "noopener" }, copy.embedded.ownTab);
  return el("div", { class: "own-tab" }, el("p", {}, copy.embedded.hint), link);
}

/** The origins that the merchant has registered. Only they receive messages. */
export function originsAround(): string[] {
  return document.getElementById("embed-origins")?.dataset.value?.split(" ") ?? [];
}
