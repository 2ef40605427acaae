/**
 * Wallet apps that accept WalletConnect by a link. The universal links are from our own list, never from a session: a
 * wallet's own link could lead the customer elsewhere.
 */

export interface App {
  name: string;
  /** The https link of the wallet's company, which opens the app. */
  link: string;
  /** The chain families on which it pays through WalletConnect. */
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

/** The app of a connected wallet, by the name that it gives itself; null if it isn't one of ours. */
export function appNamed(name: string): App | null {
  return APPS.find((app) => name.toLowerCase().includes(app.name.toLowerCase())) ?? null;
}

export function pairingLink({ link }: App, uri: string): string {
  return `${link}/wc?uri=${encodeURIComponent(uri)}`;
}

/** The link that leads back to the app, to the open request. */
export function requestLink({ link }: App, requestId: number, topic: string): string {
  return `${link}/wc?requestId=${requestId}&sessionTopic=${topic}`;
}
