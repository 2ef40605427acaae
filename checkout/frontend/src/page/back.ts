/**
 * Lets the browser's Back button go one step back inside the checkout. Each step forward adds an entry to the browser's
 * history, with the number of the step. At the first step, Back leaves the page.
 */

const DEPTH = "quittance";

export interface Steps {
  /** The number of steps that Back can go. If it is 0, Back leaves the page. */
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

  /**
   * Add an entry for each new step. If the customer leaves a step by a button, its entry stays and is skipped later.
   */
  update(): void {
    for (const depth = this.steps.depth(); this.at < depth; ) {
      this.at += 1;
      history.pushState({ [DEPTH]: this.at }, "");
    }
  }

  private moved(to: number): void {
    const isBack = to < this.at;
    // After a link to an anchor in this page, Back only changes the address, and not the step of the checkout.
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
