/** The list of wallets, with recently used ones first. After a reload, the page continues with the same wallet. */

import type { Chains } from "../chains";
import { copy } from "../copy";
import type { Chain } from "../server/types";
import type { Here, RecentWallets, Used } from "../wallets/recent";
import type { Wallet } from "../wallets/wallet";
import { discoverWallets, siblingAmong } from "../wallets/wallets";

const FAMILIES = ["evm", "solana"];

interface Events {
  /** Called when the list has changed. */
  changed(): void;
  /** Called when the wallet from before the reload is detected. `choice` is the stored choice of a token. */
  returned(wallet: Wallet, choice: unknown): void;
  /** Called if the script for the wallets of the request's chain family couldn't be loaded. */
  incomplete(): void;
}

/**
 * Creates the entry for a wallet on another device. `chains` are the chains on which it can pay. The request's own
 * chain is the first. `former` is the wallet that was connected before a reload.
 */
export type Remote = (chains: readonly Chain[], former: Used | null) => Wallet;

export class WalletList {
  all: Wallet[] = [];
  /** Whether a wallet was detected in this browser. */
  isAnyHere = false;
  /** Whether wallets have had enough time to announce themselves. */
  isSettled = false;
  private awaited: Here | null = null;
  private remote: Wallet | null = null;
  private families: readonly string[] = [];

  constructor(
    private readonly recent: RecentWallets,
    private readonly events: Events,
  ) {}

  /** Detect wallets. With `offersSwaps`, wallets of other chain families can pay, too. */
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
      (wallets, settled) => this.update(wallets, settled),
      () => own === "solana" && this.events.incomplete(),
    );
  }

  /** Call `returned` as soon as the wallet from before the reload is detected. */
  awaitFormer(): void {
    this.awaited = this.recent.connectedHere;
  }

  /** The name of the last used wallet, if it could pay but wasn't detected. Otherwise null. */
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

  private update(wallets: Wallet[], settled: boolean): void {
    this.isAnyHere = wallets.length > 0;
    // Wait for other wallets before the entry for another device is added. Otherwise the entry could move just before
    // the customer clicks it.
    const isTime = settled || this.isAnyHere;
    this.all = this.recent.sorted(this.remote && isTime ? [...wallets, this.remote] : wallets);
    this.isSettled = settled;
    this.events.changed();
    const { name, family, choice } = this.awaited ?? {};
    const listed = this.all.find((wallet) => wallet.name === name);
    // The list shows a wallet with two chain families under the family that was detected first. Before the reload, the
    // customer may have used the other one.
    const former = listed?.family === family ? listed : listed?.sibling?.();
    if (!former) return;
    this.awaited = null;
    this.events.returned(former, choice);
  }
}
