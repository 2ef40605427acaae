/** The checkout in a modal dialog over the shop's page. */

import { type CheckoutFrame, type FrameEvents, tell } from "./frame";
import type { Options } from "./quittance";
import { shadow } from "./style";
import { waiting } from "./waiting";
import { speak } from "./words";

let current: Modal | null = null;

export class Modal {
  private readonly frame: CheckoutFrame;
  private readonly host = document.createElement("div");
  private readonly dialog = document.createElement("dialog");
  private readonly closer = document.createElement("button");
  private readonly before = document.activeElement;
  private readonly unlock: () => void;
  private isOpen = true;

  constructor(
    makeFrame: (events: FrameEvents) => CheckoutFrame,
    private readonly options: Options,
  ) {
    const body = document.createElement("div");
    body.className = "body opening";
    this.frame = makeFrame({
      ready: () => {
        body.classList.remove("opening");
        wait.element.remove();
        if (this.isOpen && this.hasFocus()) this.frame.element.focus();
      },
      slow: () => wait.offerLink(),
      refused: () => {
        wait.giveUp();
        this.leave();
      },
      height: () => undefined,
      close: () => this.close(),
      idle: () => this.tidy(),
    });
    const wait = waiting(this.frame);
    current?.close();
    current = this;
    body.append(this.frame.element, wait.element);
    this.dialog.setAttribute("aria-label", this.frame.labels.title);
    speak(this.dialog, this.frame.language);
    this.dialog.append(this.bar(), body);
    this.dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.close();
    });
    this.dialog.addEventListener("close", () => this.close());
    shadow(this.host, "modal").append(this.dialog);
    document.body.append(this.host);
    this.unlock = lockScrolling();
    this.show();
  }

  /** Close the dialog. If a wallet's prompt is open, the frame stays, hidden, until the prompt is closed. */
  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    if (current === this) current = null;
    if (this.dialog.open) this.dialog.close();
    this.unlock();
    if (this.before instanceof HTMLElement && this.before.isConnected) this.before.focus({ preventScroll: true });
    this.tidy();
    tell(this.options.onClosed, this.frame.progress);
  }

  private show(): void {
    if (typeof this.dialog.showModal !== "function") return this.leave();
    this.dialog.showModal();
    this.frame.start();
  }

  private tidy(): void {
    if (this.isOpen || this.frame.isBusy) return;
    this.frame.stop();
    this.host.remove();
  }

  /** Navigate to the checkout, unless the browser is offline. */
  private leave(): void {
    if (!this.isOpen || !navigator.onLine) return;
    // The customer may come back to the shop's page.
    window.addEventListener("pageshow", () => this.close(), { once: true });
    location.assign(this.frame.address);
  }

  private hasFocus(): boolean {
    return this.host.shadowRoot?.activeElement === this.closer;
  }

  private bar(): HTMLElement {
    const bar = document.createElement("div");
    bar.className = "bar";
    this.closer.type = "button";
    this.closer.setAttribute("aria-label", this.frame.labels.close);
    this.closer.append(cross());
    this.closer.addEventListener("click", () => this.close());
    const host = document.createElement("bdi");
    host.textContent = this.frame.host;
    bar.append(host, this.closer);
    return bar;
  }
}

/** Stop the page behind from scrolling. The page's layout must not shift when the scroll bar disappears. */
function lockScrolling(): () => void {
  const { style, clientWidth } = document.documentElement;
  const { overflow, paddingRight } = style;
  const bar = window.innerWidth - clientWidth;
  style.overflow = "hidden";
  if (bar > 0) style.paddingRight = `${bar}px`;
  return () => {
    style.overflow = overflow;
    style.paddingRight = paddingRight;
  };
}

function cross(): SVGElement {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  picture.setAttribute("viewBox", "0 0 20 20");
  picture.setAttribute("aria-hidden", "true");
  const strokes = document.createElementNS(space, "path");
  strokes.setAttribute("d", "M5 5l10 10M15 5L5 15");
  picture.append(strokes);
  return picture;
}
