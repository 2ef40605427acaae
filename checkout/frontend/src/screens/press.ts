/** Tracks presses, so that the panel isn't redrawn during one: replacing a pressed button would lose its click. */

/** The longest time from a touch's release to its click; a mouse clicks immediately. */
const CLICK_WITHIN_MS = 100;
/** A longer press isn't a click, and some platforms never report its end. */
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
    // In the capture phase, before the click's own handlers, so that their result is shown immediately.
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
