/** Returns an inactive customer to the shop after a countdown. The customer can choose to stay. */

export const LEAVE_AFTER_SECONDS = 3;
/** The length of the countdown if the page shows a notice that the customer should read. */
export const LEAVE_AFTER_NOTICE_SECONDS = 15;

// Presses and moves restart the countdown. The page is redrawn only at the next tick, because a redraw during a click
// would lose the click.
const PRESSES = ["pointerdown", "keydown"];
const MOVES = ["pointermove", "wheel", "touchmove"];
// A redraw of the page also causes these events. So they are ignored for a moment after a redraw.
const BY_THE_PAGE_TOO = ["scroll", "focusin"];
const OWN_FOR_MS = 150;

export class Leaving {
  /** Seconds until the page leaves, or null if no countdown runs. */
  secondsLeft: number | null = null;
  private destination = "";
  private isFirst = true;
  /** The whole length of the countdown. */
  seconds = LEAVE_AFTER_SECONDS;
  private timer: ReturnType<typeof setInterval> | null = null;
  private drawnAt = 0;

  /** `mayLeave` is false in an embedded checkout: the shop's page decides when to continue. */
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
    // Restart the countdown when the customer returns from another tab, such as the receipt or the block explorer.
    on(["visibilitychange"], () => this.touched(() => this.draw()));
  }

  /** Start the countdown, if there is a destination and the countdown hasn't started yet. */
  towards(destination: string | null, seconds = LEAVE_AFTER_SECONDS): void {
    // A customer who used the back button to return to this page wants to stay.
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
    // `replace` would be wrong: the back button must lead to this page, because it has the link to the receipt.
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

/** Whether the pointer didn't move. Some browsers send a move event if only the page moves below the pointer. */
function isStill(event: Event): boolean {
  return event.type === "pointermove" && event instanceof PointerEvent && !event.movementX && !event.movementY;
}

function cameBack(): boolean {
  const [arrival] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return arrival?.type === "back_forward";
}
