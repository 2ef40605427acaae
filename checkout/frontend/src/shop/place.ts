/** The checkout inside an element of the shop's page. The height is that of the checkout's content. */

import { type CheckoutFrame, type FrameEvents, tell } from "./frame";
import type { Options } from "./quittance";
import { shadow } from "./style";
import { waiting } from "./waiting";
import { speak } from "./words";

const LEAST_PX = 320;

export class Place {
  private readonly frame: CheckoutFrame;
  private readonly host = document.createElement("div");
  private isThere = true;

  constructor(
    place: Element,
    makeFrame: (events: FrameEvents) => CheckoutFrame,
    private readonly options: Options,
  ) {
    const body = document.createElement("div");
    body.className = "opening";
    this.frame = makeFrame({
      ready: () => {
        body.classList.remove("opening");
        wait.element.remove();
      },
      slow: () => wait.offerLink(),
      refused: () => {
        wait.giveUp();
        body.replaceChildren(wait.element);
      },
      height: (pixels) => {
        this.frame.element.style.height = `${Math.max(pixels, LEAST_PX)}px`;
      },
      close: () => undefined,
      idle: () => undefined,
    });
    const wait = waiting(this.frame);
    speak(body, this.frame.language);
    body.append(this.frame.element, wait.element);
    shadow(this.host, "place").append(body);
    place.replaceChildren(this.host);
    this.frame.start();
  }

  /** Remove the checkout from the page. */
  unmount(): void {
    if (!this.isThere) return;
    this.isThere = false;
    this.frame.stop();
    this.host.remove();
    tell(this.options.onClosed, this.frame.progress);
  }
}
