/** The countdown of the time to pay, by the server's clock. */

import { copy } from "../copy";

/** The server's clock, because the customer's clock may be wrong. */
export class ServerClock {
  private offsetMs = 0;

  constructor(serverTime: string) {
    this.set(serverTime);
  }

  set(serverTime: string): void {
    const parsed = Date.parse(serverTime);
    if (!Number.isNaN(parsed)) this.offsetMs = parsed - Date.now();
  }

  now(): number {
    return Date.now() + this.offsetMs;
  }
}

const ANNOUNCED_SECONDS = [300, 60];
/** For this many seconds at the end, the countdown is also beside the button that pays. */
const LAST_SECONDS = 120;

/** Shows the remaining time in `output`, announces the last minutes to screen readers, and calls `onEnd` at zero. */
export class Countdown {
  private timer: ReturnType<typeof setInterval> | null = null;
  private lastSeconds = Infinity;
  /** The text beside the button that pays. */
  private last = "";

  private target: string | null = null;

  constructor(
    private readonly output: HTMLElement,
    private readonly clock: ServerClock,
    private readonly announce: (text: string) => void,
    private readonly onEnd: () => void,
  ) {}

  /** Count down to the time `target`. If it is null, stop the countdown. */
  towards(target: string | null): void {
    if (target === this.target) return;
    this.target = target;
    if (target) this.start(target);
    else this.stop();
  }

  start(expiresAt: string): void {
    this.stop();
    const end = Date.parse(expiresAt);
    this.lastSeconds = Infinity;
    this.tick(end);
    this.timer = setInterval(() => this.tick(end), 1000);
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    this.output.textContent = "";
    this.last = "";
    this.drawBeside();
  }

  /**
   * Show the time beside the deposit address and, in the last minutes, beside the button that pays. Call this method
   * after the panel was drawn.
   */
  drawBeside(): void {
    const deposit = document.querySelector(".deposit__time");
    if (deposit) deposit.textContent = this.output.textContent;
    const beside = document.querySelector(".pay-bar__time");
    if (beside) beside.textContent = this.last;
  }

  private tick(end: number): void {
    const seconds = Math.max(0, Math.ceil((end - this.clock.now()) / 1000));
    this.output.textContent = copy.timeLeft(remaining(seconds));
    this.output.classList.toggle("countdown--soon", seconds <= 300);
    this.last = seconds <= LAST_SECONDS ? this.output.textContent : "";
    this.drawBeside();
    const passed = ANNOUNCED_SECONDS.find((mark) => this.lastSeconds > mark && seconds <= mark);
    if (passed !== undefined && this.lastSeconds !== Infinity) this.announce(copy.timeLeftSpoken(passed));
    this.lastSeconds = seconds;
    if (seconds > 0) return;
    this.stop();
    this.onEnd();
  }
}

function remaining(seconds: number): string {
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (days > 0) return copy.daysAndHours(days, hours);
  // Exactly one hour, a common lifetime, is shown as 60:00.
  if (seconds > 3600) return copy.hoursAndMinutes(hours, minutes);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
