/** Leads the customer back to the shop after a few seconds, unless the customer wants to stay. */

const LEAVE_AFTER_SECONDS = 3;

export class Leaving {
  /** Until the page leads away; null where it does not. */
  secondsLeft: number | null = null;
  private isFirst = true;
  private timer: ReturnType<typeof setInterval> | null = null;

  /** `mayLeave`: in a shop's page, that page goes on by itself. */
  constructor(
    private mayLeave: boolean,
    private readonly onChange: () => void,
  ) {
    window.addEventListener("pageshow", (event) => event.persisted && this.secondsLeft !== null && this.stay());
    // Whoever touches the page while it is about to leave wants to read it.
    for (const kind of ["keydown", "pointerdown", "wheel"]) {
      document.addEventListener(kind, ({ target }) => {
        const isPress = target instanceof Element && target.closest("a, button") !== null;
        if (this.secondsLeft !== null && !isPress) this.stay();
      });
    }
  }

  /** Begins to count, once; a null destination begins nothing. */
  towards(destination: string | null): void {
    // Whoever came back from the shop, to a page that was about to lead there, wants to be here.
    if (this.isFirst && destination && cameBack()) this.mayLeave = false;
    this.isFirst = false;
    if (!destination || !this.mayLeave || this.timer !== null) return;
    this.secondsLeft = LEAVE_AFTER_SECONDS;
    this.timer = setInterval(() => {
      this.secondsLeft = Math.max(0, (this.secondsLeft ?? 0) - 1);
      if (this.secondsLeft > 0) return this.onChange();
      this.stay();
      // `replace`, so that the back button does not run into this page and out again.
      location.replace(destination);
    }, 1000);
  }

  stay(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.mayLeave = false;
    this.secondsLeft = null;
    this.onChange();
  }
}

function cameBack(): boolean {
  const [arrival] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return arrival?.type === "back_forward";
}
