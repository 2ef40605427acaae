/** What is shown until the checkout is there: that it opens, and, if that takes long, a plain link to it. */

import type { CheckoutFrame } from "./frame";

export function waiting(frame: CheckoutFrame): { element: HTMLElement; offerLink(): void } {
  const element = document.createElement("div");
  element.className = "waiting";
  const said = document.createElement("p");
  said.setAttribute("role", "status");
  said.textContent = frame.labels.opening;
  element.append(said);
  return {
    element,
    offerLink: () => {
      if (!element.querySelector("a")) element.append(pageLink(frame));
    },
  };
}

/** The way that always works: the checkout's own page, in this window. */
export function pageLink(frame: CheckoutFrame): HTMLAnchorElement {
  const link = document.createElement("a");
  link.href = frame.address;
  link.target = "_top";
  link.textContent = frame.labels.openPage;
  return link;
}
