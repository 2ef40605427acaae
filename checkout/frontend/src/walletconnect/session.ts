/** A WalletConnect session: its accounts and methods, its requests, and its end. */

import { WalletError } from "../wallets/refusals";
import { addressesOn, allows, networksOf, type Allowed } from "./caip";
import type { Client } from "./client";

/** Maps WalletConnect's error codes to the codes of browser wallets for the same errors. */
const CODES: Readonly<Record<string, number>> = {
  5000: 4001,
  5001: 4001,
  5002: 4001,
  5100: 4902,
  5101: 4200,
  3001: 4100,
  6000: 4900,
};
const DECLINED = /\b(user|you|owner) (has )?(rejected|declined|denied|cancell?ed)\b|\brejected by (the )?user\b/i;
const UPDATE_MS = 3_000;

export class Session {
  private readonly listeners = new Set<() => void>();
  /** The requests without a response from the wallet. */
  private readonly open = new Set<Promise<unknown>>();
  private readonly ended: Promise<never>;
  private rejectEnded: (error: unknown) => void = () => undefined;
  /** The id of the request that the wallet shows, or null if none is open. */
  requestId: number | null = null;
  /** The account that the customer selected last, if the wallet reports it. */
  private chosen = "";
  private isOver = false;

  constructor(
    private readonly client: Client,
    readonly topic: string,
  ) {
    this.ended = new Promise((_, reject) => (this.rejectEnded = reject));
    this.ended.catch(() => undefined);
    client.on("session_delete", ({ topic: which }) => this.over(which));
    client.on("session_expire", ({ topic: which }) => this.over(which));
    client.on("session_update", ({ topic: which }) => this.changed(which));
    client.on("session_request_sent", ({ topic: which, id }) => {
      if (which !== topic) return;
      this.requestId = id;
      this.changed(which);
    });
    client.on("session_event", ({ topic: which, params }) => {
      if (which !== topic || params.event.name !== "accountsChanged") return;
      const [first] = Array.isArray(params.event.data) ? (params.event.data as unknown[]) : [];
      this.chosen = typeof first === "string" ? (first.split(":").pop() ?? "") : "";
      this.changed(which);
    });
  }

  /** The name that the wallet gives itself. */
  get peerName(): string {
    const { client, topic } = this;
    return client.session.keys.includes(topic) ? client.session.get(topic).peer.metadata.name : "";
  }

  networks(space: string): string[] {
    return this.allowed ? networksOf(this.allowed, space) : [];
  }

  /** The addresses on a network, with the selected one first. After the end of the session, there are none. */
  addresses(network: string): string[] {
    const { allowed } = this;
    const addresses = allowed ? addressesOn(allowed, network) : [];
    const isChosen = (address: string): boolean => address.toLowerCase() === this.chosen.toLowerCase();
    return [...addresses.filter(isChosen), ...addresses.filter((address) => !isChosen(address))];
  }

  allows(space: string, method: string): boolean {
    return this.allowed !== null && allows(this.allowed, space, method);
  }

  /** Send a request to the wallet. Errors have the same format as those of browser wallets. */
  async request(network: string, method: string, params: unknown): Promise<unknown> {
    if (!this.allowed) throw { code: 4900 };
    if (!this.allows(network.split(":")[0] ?? "", method)) throw { code: 4200 };
    const { client, topic } = this;
    const answer = client.request<unknown>({ topic, chainId: network, request: { method, params } });
    const answered = (): void => {
      this.open.delete(answer);
      if (this.open.size === 0) this.requestId = null;
    };
    this.open.add(answer);
    answer.then(answered, answered);
    try {
      return await Promise.race([answer, this.ended]);
    } catch (error) {
      throw translated(error);
    }
  }

  /**
   * Wait until the session has an account on the network. Wallets first respond to a request for the network, and only
   * then update the session. Return false after a timeout.
   */
  async reaches(network: string): Promise<boolean> {
    const isThere = (): boolean => this.addresses(network).length > 0;
    if (isThere()) return true;
    return new Promise((resolve) => {
      const timer = setTimeout(() => done(false), UPDATE_MS);
      const stop = this.onChange(() => isThere() && done(true));
      const done = (reached: boolean): void => {
        clearTimeout(timer);
        stop();
        resolve(reached);
      };
    });
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Wait until each open prompt has a response or has expired, and then end the session. */
  async end(): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    await Promise.allSettled(this.open);
    await this.client.disconnect({ topic: this.topic, reason: { code: 6000, message: "" } }).catch(() => undefined);
  }

  private get allowed(): Allowed | null {
    const { client, topic, isOver } = this;
    return !isOver && client.session.keys.includes(topic) ? client.session.get(topic) : null;
  }

  private over(which: string): void {
    if (which !== this.topic || this.isOver) return;
    this.isOver = true;
    this.rejectEnded({ code: 4900 });
    this.changed(which);
  }

  private changed(which: string): void {
    if (which === this.topic) this.listeners.forEach((listener) => listener());
  }
}

function translated(error: unknown): unknown {
  const { code, message, data } = (error ?? {}) as { code?: unknown; message?: unknown; data?: unknown };
  const text = typeof message === "string" ? message : "";
  const browserCode = CODES[String(code)];
  if (browserCode) return { code: browserCode, message: text };
  return DECLINED.test(text) ? new WalletError("rejected", text) : { code, message: text, data };
}
