/** Knows whether a press is under way: what is pressed must still be there when the press ends, or its click is lost. */

/** From the release of a finger to its click; a mouse's click comes at once. */
const CLICK_WITHIN_MS = 100;
/** A longer press is no click, and on some platforms its end is never reported. */
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
    // Before the click's own handlers: what they bring about is shown at once.
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
