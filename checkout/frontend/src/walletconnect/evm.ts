/** Adapts a session to EIP-1193, the interface of EVM wallets in browsers. */

import type { Provider } from "../wallets/ethereum";
import type { Session } from "./session";

/** `networks` are the networks that can pay. The request's own is the first. */
export function evmProvider(session: Session, networks: readonly string[]): Provider {
  // If the session has none of these networks, begin with any network. The wallet may still add one of them.
  let [current = ""] = [...networks.filter((network) => session.addresses(network).length > 0), ...session.networks("eip155")];
  const listeners = new Map<(value: unknown) => void, () => void>();

  async function switchTo(method: string, params: unknown): Promise<null> {
    const [{ chainId = "" } = {}] = (params ?? []) as { chainId?: string }[];
    const network = `eip155:${Number(chainId)}`;
    if (session.addresses(network).length === 0) {
      if (!session.allows("eip155", method)) throw { code: 4902 };
      await session.request(current, method, params);
      if (!(await session.reaches(network))) throw { code: 4902 };
    }
    current = network;
    return null;
  }

  return {
    async request({ method, params }) {
      switch (method) {
        case "eth_chainId":
          return `0x${Number(current.split(":")[1]).toString(16)}`;
        case "eth_accounts":
        case "eth_requestAccounts":
          return session.addresses(current);
        case "wallet_switchEthereumChain":
        case "wallet_addEthereumChain":
          return switchTo(method, params);
        default:
          return session.request(current, method, params);
      }
    },
    // A session has no current network, so only its accounts can change.
    on(event, listener) {
      if (event !== "accountsChanged") return;
      let before = session.addresses(current)[0];
      const stop = session.onChange(() => {
        const now = session.addresses(current);
        if (now[0] !== before) listener(now);
        before = now[0];
      });
      listeners.set(listener, stop);
    },
    removeListener(_, listener) {
      listeners.get(listener)?.();
      listeners.delete(listener);
    },
  };
}
