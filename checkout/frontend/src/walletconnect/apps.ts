/**
 * Wallet apps that open by a WalletConnect link. The links are from this list, never from the session: a link from a
 * wallet could lead the customer to a wrong page.
 */

export interface App {
  name: string;
  /** The https link of the wallet's company, which opens the app. */
  link: string;
  /** The chain families on which the app can pay through WalletConnect. */
  families: readonly string[];
}

export const APPS: readonly App[] = [
  { name: "MetaMask", link: "https://link.metamask.io", families: ["evm"] },
  { name: "Trust Wallet", link: "https://link.trustwallet.com", families: ["evm", "solana"] },
  { name: "Rainbow", link: "https://rnbwapp.com", families: ["evm"] },
  { name: "Zerion", link: "https://wallet.zerion.io", families: ["evm"] },
  { name: "Uniswap", link: "https://uniswap.org/app", families: ["evm"] },
  { name: "SafePal", link: "https://link.safepal.io", families: ["evm"] },
];

/** The apps that can pay on one of these families. */
export function appsFor(families: readonly string[]): App[] {
  return APPS.filter((app) => app.families.some((family) => families.includes(family)));
}

/** The app of a connected wallet, by the wallet's name. Null if it isn't in this list. */
export function appNamed(name: string): App | null {
  return APPS.find((app) => name.toLowerCase().includes(app.name.toLowerCase())) ?? null;
}

export function pairingLink({ link }: App, uri: string): string {
  return `${link}/wc?uri=${encodeURIComponent(uri)}`;
}

/** The link to the open request in the app. */
export function requestLink({ link }: App, requestId: number, topic: string): string {
  return `${link}/wc?requestId=${requestId}&sessionTopic=${topic}`;
}
