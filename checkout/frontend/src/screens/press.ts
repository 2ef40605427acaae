/** Tracks presses of buttons. The panel waits for the end of a press: a redraw of the button would lose the click. */

/** The maximum time from the end of a touch to its click. With a mouse, the click is immediate. */
const CLICK_WITHIN_MS = 100;
/** A press that takes longer than this isn't a click. Some platforms never report the end of such a press. */
const LONGEST_MS = 1_000;

export class Press {
  isDown = false;
  private ending: ReturnType<typeof setTimeout> | null = null;

  /** `ended` is called after the click's own handlers. */
  constructor(
    area: HTMLElement,
    private readonly ended: () => void,
  ) {
    area.addEventListener("pointerdown", ({ isPrimary, button }) => {
      if (!isPrimary || button !== 0) return;
      this.isDown = true;
      this.endIn(LONGEST_MS);
    });
    window.addEventListener("pointerup", () => this.isDown && this.endIn(CLICK_WITHIN_MS));
    window.addEventListener("pointercancel", () => this.isDown && this.endIn(0));
    // Use the capture phase, so that the press ends before the click's own handlers run. Otherwise the panel would
    // delay the result of these handlers.
    area.addEventListener("click", () => this.clicked(), { capture: true });
  }

  private clicked(): void {
    if (!this.isDown) return;
    this.isDown = false;
    this.endIn(0);
  }

  private endIn(ms: number): void {
    if (this.ending !== null) clearTimeout(this.ending);
    this.ending = setTimeout(() => {
      this.isDown = false;
      this.ended();
    }, ms);
  }
}
