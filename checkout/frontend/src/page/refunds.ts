/**
 * The list of refunds. The server renders the list. The page loads the list again if a refund is created, sent or
 * cancelled.
 */

import { byId } from "../dom";
import type { Refund } from "../server/types";

export class Refunds {
  private shown: string;
  private isReading = false;

  constructor(
    refunds: readonly Refund[],
    private readonly announce: (text: string) => void,
  ) {
    this.shown = JSON.stringify(refunds);
  }

  /** Draw the refunds again if they have changed. After a failure, the next call tries it again. */
  show(refunds: readonly Refund[]): void {
    const next = JSON.stringify(refunds);
    if (this.isReading || next === this.shown) return;
    this.isReading = true;
    // The page's policy doesn't allow scripts to parse HTML. With this response type, the browser parses it.
    const request = new XMLHttpRequest();
    request.open("GET", `${location.pathname}/refunds${location.search}`);
    request.responseType = "document";
    request.onload = () => {
      const list = request.responseXML?.getElementById("refunds");
      if (!list) return;
      this.shown = next;
      const here = byId("refunds");
      here.replaceChildren(...list.childNodes);
      this.announce(here.innerText);
    };
    request.onloadend = () => (this.isReading = false);
    request.send();
  }
}
