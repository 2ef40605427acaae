/**
 * Lets only one tab of this browser at a time prompt the wallet to pay a request. The tab holds a lock, which the
 * browser releases when the tab closes.
 */

export class Exclusive {
  private running = 0;
  private release = (): void => undefined;

  /** Tabs with the same `name` exclude each other. */
  constructor(private readonly name: string) {}

  /** Run the work and return true. If another tab is still working, return false and don't run it. */
  async run(work: () => Promise<void>): Promise<boolean> {
    // This tab can start again while it holds the lock, because the customer may have left a prompt that is still open.
    if (this.running === 0 && !(await this.acquire())) return false;
    this.running += 1;
    try {
      await work();
    } finally {
      this.running -= 1;
      if (this.running === 0) this.release();
    }
    return true;
  }

  private acquire(): Promise<boolean> {
    // Some browsers don't have locks, and pages without HTTPS don't either.
    const locks = (navigator as { locks?: LockManager }).locks;
    if (!locks) return Promise.resolve(true);
    return new Promise((resolve) => {
      const held = (lock: Lock | null): Promise<void> | null => {
        const released = lock && new Promise<void>((release) => (this.release = release));
        resolve(lock !== null);
        return released;
      };
      // A frame without storage access can't use locks.
      locks.request(this.name, { ifAvailable: true }, held).catch(() => resolve(true));
    });
  }
}
