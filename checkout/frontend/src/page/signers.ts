/** Connects each signature with the server's response to it. */

import type { ApiError } from "../server/api";

export class Signers {
  private readonly waiting = new Map<string, (error: ApiError | null) => void>();

  /** Wait for the server's response to the signature for this route. Null means that the server has accepted it. */
  wait(routeId: string): Promise<ApiError | null> {
    return new Promise((resolve) => this.waiting.set(routeId, resolve));
  }

  /** Pass the response to the caller of `wait`. Return false if no caller waits for this route. */
  settle(routeId: string, error: ApiError | null): boolean {
    this.waiting.get(routeId)?.(error);
    return this.waiting.delete(routeId);
  }

  /** Stop waiting for all routes except this one, because another tab may have submitted their signatures. */
  settleOthers(routeId: string | undefined): void {
    for (const each of this.waiting.keys()) if (each !== routeId) this.settle(each, null);
  }
}
