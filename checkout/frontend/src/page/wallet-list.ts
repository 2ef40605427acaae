/** The wallets on offer, in the order of their use, and the one that a reloaded page continues with. */

import type { Chains } from "../chains";
import { copy } from "../copy";
import type { Chain } from "../server/types";
import type { Here, RecentWallets, Used } from "../wallets/recent";
import type { Wallet } from "../wallets/wallet";
import { discoverWallets, siblingAmong } from "../wallets/wallets";

const FAMILIES = ["evm", "solana"];

interface Events {
  /** The list has changed. */
  changed(): void;
  /** The wallet that was awaited has come; `choice` is what its owner had chosen to pay with. */
  returned(wallet: Wallet, choice: unknown): void;
  /** The part that speaks to the request's own family of wallets can't be loaded. */
  incomplete(): void;
}

/** Creates the wallet on another device. `chains` can pay, the request's first; `former` is the wallet to continue with. */
export type Remote = (chains: readonly Chain[], former: Used | null) => Wallet;

export class WalletList {
  all: Wallet[] = [];
  /** Whether this browser has a wallet itself. */
  isAnyHere = false;
  /** Whether wallets have had their time to announce themselves. */
  isSettled = false;
  private awaited: Here | null = null;
  private remote: Wallet | null = null;
  private families: readonly string[] = [];

  constructor(
    private readonly recent: RecentWallets,
    private readonly events: Events,
  ) {}

  /** Looks for wallets. `offersSwaps`: those of other families than the request's can pay too. */
  discover(chains: Chains, solanaScript: string, offersSwaps: boolean, remote: Remote | null): void {
    const own = chains.requested.chain_type;
    const others = FAMILIES.filter((family) => family !== own && chains.of(family).length > 0);
    const search = {
      families: FAMILIES.includes(own) ? [own, ...(offersSwaps ? others : [])] : [],
      defaultName: copy.browserWallet,
      solana: { chains: chains.of("solana"), script: solanaScript, isNeeded: own === "solana" },
    };
    this.families = search.families;
    if (remote && search.families.length > 0) this.remote = this.onAnotherDevice(remote, chains, search.families, offersSwaps);
    discoverWallets(
      search,
      (wallets, settled) => this.found(wallets, settled),
      () => own === "solana" && this.events.incomplete(),
    );
  }

  /** Continues with the wallet that this page had before the reload, as soon as it is there. */
  awaitFormer(): void {
    this.awaited = this.recent.connectedHere;
  }

  /** The name of the wallet that was used last, where it should be here and is not. */
  get missing(): string | null {
    const { last } = this.recent;
    const isSought = last !== null && this.families.includes(last.family);
    const isHere = this.all.some(({ name }) => name === last?.name);
    return this.isSettled && isSought && !isHere ? last.name : null;
  }

  siblingOf(wallet: Wallet): Wallet | null {
    return siblingAmong(this.all, wallet);
  }

  private onAnotherDevice(make: Remote, chains: Chains, families: readonly string[], offersSwaps: boolean): Wallet {
    const { requested } = chains;
    const others = offersSwaps ? families.flatMap((family) => chains.of(family)) : [];
    return make([requested, ...others.filter(({ id }) => id !== requested.id)], this.awaited);
  }

  private found(wallets: Wallet[], settled: boolean): void {
    this.isAnyHere = wallets.length > 0;
    // Not before the others, which would push it away under the customer's hand.
    const isTime = settled || this.isAnyHere;
    this.all = this.recent.sorted(this.remote && isTime ? [...wallets, this.remote] : wallets);
    this.isSettled = settled;
    this.events.changed();
    const { name, family, choice } = this.awaited ?? {};
    const listed = this.all.find((wallet) => wallet.name === name);
    // The half of it that speaks the other family may have come first.
    const former = listed?.family === family ? listed : listed?.sibling?.();
    if (!former) return;
    this.awaited = null;
    this.events.returned(former, choice);
  }
}
