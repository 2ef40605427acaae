/** WalletConnect's entry in the list of wallets. The script is loaded only when the customer chooses the entry. */

import { say } from "../language";
import type { Chain } from "../server/types";
import { WalletError } from "../wallets/refusals";
import type { Wallet } from "../wallets/wallet";
import type { Link, LinkSetup } from "./main";

type Part = typeof import("./main");

export const NAME = "WalletConnect";
const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='8' fill='%23233876'/>" +
  "<path fill='%23fff' d='M8 8h7v7H8zm2 2v3h3v-3zm7-2h7v7h-7zm2 2v3h3v-3zM8 17h7v7H8zm2 2v3h3v-3zm7-2h3v3h-3zm4 0h3v3h-3zm-4 4h3v3h-3zm4 0h3v3h-3z'/></svg>";

export interface Offer {
  script: string;
  projectId: string;
  relayUrl: string;
}

/** Read the settings from the page. Return null if this deployment doesn't offer WalletConnect. */
export function offerOf({ dataset }: HTMLElement): Offer | null {
  const { walletconnect, walletconnectProject, walletconnectRelay } = dataset;
  if (!walletconnect || !walletconnectProject || !walletconnectRelay) return null;
  return { script: walletconnect, projectId: walletconnectProject, relayUrl: walletconnectRelay };
}

/** Create the entry. `former` is the wallet from before a reload. */
export function walletConnect(
  offer: Offer,
  payee: string,
  changed: () => void,
  chains: readonly Chain[],
  former: { name: string; family: string } | null,
): Wallet {
  const families = new Set(chains.map((chain) => chain.chain_type));
  const [requested = ""] = families;
  let turn = 0;
  let link: Link | null = null;
  let loading: Promise<Link> | null = null;

  async function load(): Promise<Link> {
    const { script, projectId, relayUrl } = offer;
    const setup: LinkSetup = { projectId, relayUrl, chains, name: payee, description: document.title };
    // The file name may contain a digest, so the server provides it.
    loading ??= (import(script) as Promise<Part>).then((part) => part.open(setup, changed));
    try {
      return (link = await loading);
    } catch {
      loading = null;
      throw new WalletError("incomplete", "");
    }
  }

  function half(first: string): Wallet {
    let own = first;
    const inner = (): Wallet => {
      const wallet = link?.wallet(own);
      if (!wallet) throw new WalletError("unauthorized", "");
      return wallet;
    };
    return {
      id: "walletconnect",
      name: NAME,
      icon: ICON,
      hint: say("walletconnect.hint"),
      get family() {
        return own;
      },
      get sibling() {
        const other = link?.families.find((one) => one !== own);
        return other ? () => half(other) : undefined;
      },
      get pairing() {
        return link?.pairing ?? null;
      },
      get app() {
        return link?.app ?? null;
      },
      screen: (back) => link?.screen(back) ?? null,
      async connect() {
        const mine = (turn += 1);
        const opened = await load();
        if (mine !== turn) throw new WalletError("rejected", "");
        await opened.connect();
        if (!opened.families.includes(own)) own = opened.families[0] ?? own;
        return inner().connect();
      },
      async accounts() {
        (await load()).restore();
        return link?.wallet(own)?.accounts() ?? [];
      },
      chain: async () => inner().chain(),
      switchTo: async (chainId, details) => inner().switchTo(chainId, details),
      matches: (transaction, shown) => inner().matches(transaction, shown),
      read: (transaction, shown) => inner().read(transaction, shown),
      sign: async (account, message) => inner().sign(account, message),
      get authorize() {
        // This method is missing if the session doesn't allow it.
        return link?.wallet(own)?.authorize;
      },
      send: async (account, transaction) => inner().send(account, transaction),
      watch: (changes) => link?.wallet(own)?.watch(changes) ?? (() => undefined),
      leave() {
        turn += 1;
        void link?.leave();
      },
    };
  }

  return half(former?.name === NAME && families.has(former.family) ? former.family : requested);
}
