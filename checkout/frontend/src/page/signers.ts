/** Connects each signature with the server's response to it. */

import type { ApiError } from "../server/api";

export class Signers {
  private readonly waiting = new Map<string, (error: ApiError | null) => void>();

  /** Wait for the response to the signature of this route: null if the server has it. */
  wait(routeId: string): Promise<ApiError | null> {
    return new Promise((resolve) => this.waiting.set(routeId, resolve));
  }

  /** Return false if nothing here waits for it. */
  settle(routeId: string, error: ApiError | null): boolean {
    this.waiting.get(routeId)?.(error);
    return this.waiting.delete(routeId);
  }

  /** Another tab may have submitted what was signed here: settle all but this route. */
  settleOthers(routeId: string | undefined): void {
    for (const each of this.waiting.keys()) if (each !== routeId) this.settle(each, null);
  }
}
