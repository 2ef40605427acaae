/** What is shown where the checkout is not there: that it opens, and, if it takes long or can't, a plain link to it. */

import type { CheckoutFrame } from "./frame";

export interface Waiting {
  readonly element: HTMLElement;
  /** It is taking long: the link beside the frame's own way. */
  offerLink(): void;
  /** It does not come: the link instead. */
  giveUp(): void;
}

export function waiting(frame: CheckoutFrame): Waiting {
  const element = document.createElement("div");
  element.className = "waiting";
  const said = document.createElement("p");
  said.setAttribute("role", "status");
  said.textContent = frame.labels.opening;
  element.append(said);
  const offerLink = (): void => {
    if (!element.querySelector("a")) element.append(pageLink(frame));
  };
  return {
    element,
    offerLink,
    giveUp: () => {
      said.textContent = frame.labels.elsewhere;
      offerLink();
    },
  };
}

/** The way that always works: the checkout's own page, in this window. */
function pageLink(frame: CheckoutFrame): HTMLAnchorElement {
  const link = document.createElement("a");
  link.href = frame.address;
  link.target = "_top";
  link.textContent = frame.labels.openPage;
  return link;
}
