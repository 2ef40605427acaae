/** Finds the wallets in this browser: EIP-6963 announcements, else `window.ethereum`. */

export interface Provider {
  request(call: { method: string; params?: unknown }): Promise<unknown>;
  on?(event: string, listener: (value: unknown) => void): unknown;
  removeListener?(event: string, listener: (value: unknown) => void): unknown;
}

export interface Wallet {
  id: string;
  name: string;
  icon: string | null;
  provider: Provider;
}

const FALLBACK_AFTER_MS = 300;
const LONGEST_NAME = 40;

/**
 * Calls `onChange` with the wallets found so far, each time one is added, and with `settled` true once
 * wallets have had their time to answer. Wallets may announce themselves later still.
 */
export function discoverWallets(
  defaultName: string,
  onChange: (wallets: Wallet[], settled: boolean) => void,
): void {
  const found = new Map<string, Wallet>();
  let settled = false;

  window.addEventListener("eip6963:announceProvider", (event) => {
    const wallet = announced((event as CustomEvent<unknown>).detail);
    if (!wallet || found.has(wallet.id)) return;
    found.delete("injected");
    found.set(wallet.id, wallet);
    onChange([...found.values()], settled);
  });
  window.dispatchEvent(new Event("eip6963:requestProvider"));

  setTimeout(() => {
    settled = true;
    const injected = (window as { ethereum?: unknown }).ethereum;
    if (found.size === 0 && isProvider(injected)) {
      found.set("injected", { id: "injected", name: defaultName, icon: null, provider: injected });
    }
    onChange([...found.values()], settled);
  }, FALLBACK_AFTER_MS);
}

function announced(detail: unknown): Wallet | null {
  const { info, provider } = (detail ?? {}) as { info?: Record<string, unknown>; provider?: unknown };
  if (!info || typeof info.uuid !== "string" || typeof info.name !== "string") return null;
  if (!isProvider(provider)) return null;
  const name = info.name.trim().slice(0, LONGEST_NAME);
  if (!name) return null;
  // Any other scheme would be a request to a third party.
  const icon = typeof info.icon === "string" && info.icon.startsWith("data:image/") ? info.icon : null;
  return { id: info.uuid, name, icon, provider };
}

function isProvider(value: unknown): value is Provider {
  return typeof value === "object" && value !== null && typeof (value as Provider).request === "function";
}
