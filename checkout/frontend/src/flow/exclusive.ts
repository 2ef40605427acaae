/** Lets one tab of this browser at a time ask the wallet to pay one request, by a lock that ends with its tab. */

export class Exclusive {
  private running = 0;
  private release = (): void => undefined;

  /** `name` is the same in all tabs that exclude each other. */
  constructor(private readonly name: string) {}

  /** Run the work and return true; return false without running it if another tab has not finished its own. */
  async run(work: () => Promise<void>): Promise<boolean> {
    // A prompt that this tab's customer has left may stay open, so this tab can start again.
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
    // Missing in browsers without it and on pages without HTTPS.
    const locks = (navigator as { locks?: LockManager }).locks;
    if (!locks) return Promise.resolve(true);
    return new Promise((resolve) => {
      const held = (lock: Lock | null): Promise<void> | null => {
        const released = lock && new Promise<void>((release) => (this.release = release));
        resolve(lock !== null);
        return released;
      };
      // Frames without storage access have no locks.
      locks.request(this.name, { ifAvailable: true }, held).catch(() => resolve(true));
    });
  }
}
