/** Receives the payment request's status from the `events` process when it changes. */

import type { Checkout } from "./types";

export class StatusStream {
  private source: EventSource | null = null;

  /** `url` is the stream's address, or null if the `events` process doesn't run. */
  constructor(
    private readonly url: string | null,
    private readonly onUpdate: (checkout: Checkout, etag: string) => void,
  ) {}

  /**
   * Whether the stream sends updates. There are no updates while the browser reconnects, or if the server has rejected
   * the stream.
   */
  get isConnected(): boolean {
    return this.source?.readyState === EventSource.OPEN;
  }

  /** Connect if the stream isn't connected and the browser isn't reconnecting. */
  open(): void {
    if (this.url === null || (this.source && this.source.readyState !== EventSource.CLOSED)) return;
    this.source = new EventSource(this.url);
    this.source.addEventListener("update", (event: MessageEvent<string>) => {
      this.onUpdate(JSON.parse(event.data) as Checkout, event.lastEventId);
    });
  }

  close(): void {
    this.source?.close();
    this.source = null;
  }
}
