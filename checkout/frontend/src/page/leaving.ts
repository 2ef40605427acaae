/** Leads the customer back to the shop once the page has not been touched for a while, unless the customer stays. */

export const LEAVE_AFTER_SECONDS = 3;
/** With a notice to read first. */
export const LEAVE_AFTER_NOTICE_SECONDS = 15;

// A redraw in the middle of a press or a key stroke would lose its click: these are counted, and drawn a second later.
const PRESSES = ["pointerdown", "keydown"];
const MOVES = ["pointermove", "wheel", "touchmove"];
// The page itself moves the focus and scrolls when it draws.
const BY_THE_PAGE_TOO = ["scroll", "focusin"];
const OWN_FOR_MS = 150;

export class Leaving {
  /** Until the page leads away; null where it does not. */
  secondsLeft: number | null = null;
  private destination = "";
  private isFirst = true;
  private seconds = LEAVE_AFTER_SECONDS;
  private timer: ReturnType<typeof setInterval> | null = null;
  private drawnAt = 0;

  /** `mayLeave`: in a shop's page, that page goes on by itself. */
  constructor(
    private mayLeave: boolean,
    private readonly onChange: () => void,
  ) {
    window.addEventListener("pageshow", (event) => event.persisted && this.secondsLeft !== null && this.stay());
    const on = (kinds: string[], then: (event: Event) => void): void =>
      kinds.forEach((kind) => document.addEventListener(kind, then, { capture: true, passive: true }));
    on(PRESSES, () => this.touched());
    on(MOVES, (event) => isStill(event) || this.touched(() => this.draw()));
    on(BY_THE_PAGE_TOO, () => performance.now() - this.drawnAt < OWN_FOR_MS || this.touched());
    // The count starts again when the customer comes back from another tab: the receipt, the block explorer.
    on(["visibilitychange"], () => this.touched(() => this.draw()));
  }

  /** Starts the count, once; a null destination starts nothing. */
  towards(destination: string | null, seconds = LEAVE_AFTER_SECONDS): void {
    // A customer who came back from the shop, to a page that was about to lead there, wants to be here.
    if (this.isFirst && destination && cameBack()) this.mayLeave = false;
    this.isFirst = false;
    if (!destination || !this.mayLeave || this.timer !== null) return;
    this.secondsLeft = this.seconds = seconds;
    this.destination = destination;
    this.restart();
  }

  stay(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.mayLeave = false;
    this.secondsLeft = null;
    this.draw();
  }

  private restart(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = setInterval(() => this.tick(), 1000);
  }

  private tick(): void {
    if (document.hidden || this.secondsLeft === null) return;
    this.secondsLeft -= 1;
    if (this.secondsLeft > 0) return this.draw();
    this.stay();
    // Not `replace`: the back button leads to this page, which then stays, with the way to the receipt.
    location.assign(this.destination);
  }

  private touched(then?: () => void): void {
    if (this.secondsLeft === null) return;
    this.restart();
    if (this.secondsLeft === this.seconds) return;
    this.secondsLeft = this.seconds;
    then?.();
  }

  private draw(): void {
    this.drawnAt = performance.now();
    this.onChange();
  }
}

/** Some browsers report a move when the page moves under a pointer that rests. */
function isStill(event: Event): boolean {
  return event.type === "pointermove" && event instanceof PointerEvent && !event.movementX && !event.movementY;
}

function cameBack(): boolean {
  const [arrival] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return arrival?.type === "back_forward";
}
