/**
 * WalletConnect: connects a wallet on another device through a relay. This script is loaded when the customer chooses
 * WalletConnect.
 */

import type { Screen } from "../screens/panel";
import type { Chain } from "../server/types";
import { clusterOf, solanaWallet } from "../solana/main";
import { ethereumWallet } from "../wallets/ethereum";
import { understood, WalletError } from "../wallets/refusals";
import type { Wallet } from "../wallets/wallet";
import { appNamed, appsFor, requestLink } from "./apps";
import { caipOf, namespaces, SPACES } from "./caip";
import { openClient, type Client, type ClientSetup } from "./client";
import { evmProvider } from "./evm";
import { Proposing, type Pairing } from "./pairing";
import { pairingScreen } from "./pairing-screen";
import { Session } from "./session";
import { registered } from "./solana";

export interface LinkSetup extends ClientSetup {
  /** The networks that can pay. Networks of the request's family come first. */
  chains: readonly Chain[];
}

const NAME = "WalletConnect";

/** `changed` is called when the screen changes. */
export async function open(setup: LinkSetup, changed: () => void): Promise<Link> {
  return new Link(await openClient(setup), setup.chains, changed);
}

/** One page's link to one wallet. */
export class Link {
  pairing: Pairing | null = null;
  private proposing: Proposing | null = null;
  private session: Session | null = null;
  private readonly wallets = new Map<string, Wallet>();
  /** The topics of sessions that will end as soon as the wallet has no open prompt. */
  private readonly ending = new Set<string>();

  constructor(
    private readonly client: Client,
    private readonly chains: readonly Chain[],
    private readonly changed: () => void,
  ) {}

  /** The chain families on which the connected wallet shares an account. The request's family is first. */
  get families(): string[] {
    return [...this.wallets.keys()];
  }

  wallet(family: string): Wallet | null {
    return this.wallets.get(family) ?? null;
  }

  /** The connected wallet's app, and the link to its open request. */
  get app(): { name: string; url: string } | null {
    const { session } = this;
    const app = session && appNamed(session.peerName);
    return app && session.requestId !== null ? { name: app.name, url: requestLink(app, session.requestId, session.topic) } : null;
  }

  /** After a reload, continue this tab's session if it is for this merchant. */
  restore(): void {
    const { name } = this.client.metadata;
    const last = this.client.session.getAll().filter(({ self }) => self.metadata.name === name).pop();
    if (!this.session && last) this.take(last.topic);
  }

  /** Show a pairing code until a wallet connects. Throws WalletError if the wallet rejects the connection. */
  async connect(): Promise<void> {
    if (this.session && this.families.length > 0) return;
    await this.endAll();
    this.proposing = new Proposing(this.client, namespaces(this.chains), (pairing) => this.show(pairing));
    try {
      this.take(await this.proposing.run());
    } catch (error) {
      throw refusal(error);
    } finally {
      this.show(null);
    }
    if (this.families.length > 0) return;
    await this.leave();
    throw new WalletError("unauthorized", "");
  }

  /** The screen with the pairing code, or null if none is shown. */
  screen(back: () => void): Screen | null {
    const apps = appsFor([...new Set(this.chains.map((chain) => chain.chain_type))]);
    return this.pairing && pairingScreen(this.pairing, apps, () => void this.proposing?.renew(), back);
  }

  /** End the session, and close the connection to the relay. Called after the payment, or if the customer leaves. */
  async leave(): Promise<void> {
    this.proposing?.stop();
    this.show(null);
    await this.endAll();
    // The customer may have reconnected meanwhile.
    if (this.session || this.pairing) return;
    await this.client.core.relayer.transportClose().catch(() => undefined);
  }

  private take(topic: string): void {
    const session = new Session(this.client, topic);
    this.session = session;
    session.onChange(() => this.changed());
    this.wallets.clear();
    const of = (family: string): Chain[] => this.chains.filter((chain) => chain.chain_type === family && caipOf(chain));
    for (const family of new Set(this.chains.map((chain) => chain.chain_type))) {
      const wallet = walletOf(session, family, of(family));
      if (wallet) this.wallets.set(family, wallet);
    }
  }

  private show(pairing: Pairing | null): void {
    this.pairing = pairing;
    this.changed();
  }

  /** End all sessions of this tab, including those of earlier payments. */
  private async endAll(): Promise<void> {
    const { client, session } = this;
    this.wallets.clear();
    this.session = null;
    if (session) this.ending.add(session.topic);
    const others = client.session.keys.filter((topic) => !this.ending.has(topic));
    const reason = { code: 6000, message: "" };
    const ended = others.map((topic) => client.disconnect({ topic, reason }).catch(() => undefined));
    await Promise.all([session?.end(), ...ended]);
  }
}

/** The wallet on one chain family. Null if the session has no account there. */
function walletOf(session: Session, family: string, chains: Chain[]): Wallet | null {
  const networks = new Map(chains.map((chain) => [chain, caipOf(chain) ?? ""]));
  if (session.networks(SPACES[family] ?? "").length === 0) return null;
  if (family === "evm") {
    const face = { id: "walletconnect", name: NAME, icon: null };
    const wallet = ethereumWallet(face, evmProvider(session, [...networks.values()]));
    if (!session.allows("eip155", "eth_signTypedData_v4")) delete wallet.authorize;
    return wallet;
  }
  const named = new Map([...networks].map(([chain, network]) => [clusterOf(chain), network]));
  return solanaWallet(registered(session, named, NAME), chains);
}

/** If a wallet rejects a connection, it returns a WalletConnect code from 5000 to 5099. */
function refusal(error: unknown): WalletError {
  const code = Number((error as { code?: unknown } | null)?.code);
  return code >= 5000 && code < 5100 ? new WalletError("rejected", "") : understood(error);
}
