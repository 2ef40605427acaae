/**
 * The browser's Back button goes one step back inside the checkout: each step that the customer goes forward adds an entry
 * to the history, which carries its depth. At the first step, Back leaves the page as usual.
 */

const DEPTH = "quittance";

export interface Steps {
  /** How many steps the customer is inside the checkout; 0 if Back should leave the page. */
  depth(): number;
  /** Go one step back. */
  back(): void;
}

export class BackButton {
  private at = depthOf(history.state);
  private address = location.href;

  constructor(private readonly steps: Steps) {
    window.addEventListener("popstate", (event) => this.moved(depthOf(event.state)));
  }

  /** Add an entry for each new step. Entries of steps that the customer left by a button stay, and are skipped later. */
  update(): void {
    for (const depth = this.steps.depth(); this.at < depth; ) {
      this.at += 1;
      history.pushState({ [DEPTH]: this.at }, "");
    }
  }

  private moved(to: number): void {
    const isBack = to < this.at;
    // A link to a place in the page changes the address; going back from it is no step of the checkout.
    const isSamePlace = location.href === this.address;
    this.at = to;
    this.address = location.href;
    if (!isBack || !isSamePlace) return;
    if (this.steps.depth() > to) this.steps.back();
    else history.back();
  }
}

function depthOf(state: unknown): number {
  const depth = (state as Record<string, unknown> | null)?.[DEPTH];
  return typeof depth === "number" ? depth : 0;
}
