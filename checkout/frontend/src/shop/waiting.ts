/** The placeholder until the checkout has loaded. If loading is slow or fails, it has a link to the checkout. */

import type { CheckoutFrame } from "./frame";

export interface Waiting {
  readonly element: HTMLElement;
  /** Add the link, because loading is slow. */
  offerLink(): void;
  /** Show that the checkout can't be embedded, with the link. */
  giveUp(): void;
}

export function waiting(frame: CheckoutFrame): Waiting {
  const element = document.createElement("div");
  element.className = "waiting";
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  status.textContent = frame.labels.opening;
  element.append(status);
  const offerLink = (): void => {
    if (!element.querySelector("a")) element.append(pageLink(frame));
  };
  return {
    element,
    offerLink,
    giveUp: () => {
      status.textContent = frame.labels.elsewhere;
      offerLink();
    },
  };
}

/** A link to the checkout's own page, in this window. */
function pageLink(frame: CheckoutFrame): HTMLAnchorElement {
  const link = document.createElement("a");
  link.href = frame.address;
  link.target = "_top";
  link.textContent = frame.labels.openPage;
  return link;
}
