/** Adapts a session to the Wallet Standard, the interface of Solana wallets in browsers. */

import { fromBase58, toBase58 } from "../solana/base58";
import { fromBase64 } from "../solana/payment";
import type { Session } from "./session";

interface Input {
  account: { address: string };
  transaction: Uint8Array;
  message: Uint8Array;
  chain: string;
}

const SEND = "solana_signAndSendTransaction";
const SIGN = "solana_signTransaction";
const SIGNATURE = 64;

interface Signed {
  signature?: unknown;
  transaction?: unknown;
}

/** `networks` maps the Wallet Standard's name of a network to WalletConnect's name. The request's network is first. */
export function registered(session: Session, networks: ReadonlyMap<string, string>, name: string): object {
  const [any = ""] = networks.values();
  const accounts = (): object[] => {
    const chainsByAddress = new Map<string, string[]>();
    for (const [chain, network] of networks) {
      for (const address of session.addresses(network)) {
        chainsByAddress.set(address, [...(chainsByAddress.get(address) ?? []), chain]);
      }
    }
    return [...chainsByAddress].map(([address, chains]) => ({ address, chains }));
  };
  const ask = async (method: string, network: string, params: object): Promise<{ signature: Uint8Array }[]> => {
    const answer = (await session.request(network, method, params)) as { signature?: unknown } | null;
    const signature = fromBase58(String(answer?.signature ?? ""), 64);
    if (!signature) throw new Error("The wallet gave no signature.");
    return [{ signature }];
  };
  const send = async ({ account, transaction, chain }: Input): Promise<object[]> =>
    ask(SEND, networks.get(chain) ?? any, { transaction: base64(transaction), pubkey: account.address });
  const sign = async ({ account, message }: Input): Promise<object[]> =>
    ask("solana_signMessage", any, { message: toBase58(message), pubkey: account.address });
  /** Sign a transaction whose first signer is another account, which pays the fee and signs last. */
  const authorize = async ({ account, transaction, chain }: Input): Promise<object[]> => {
    const params = { transaction: base64(transaction), pubkey: account.address };
    const answer = (await session.request(networks.get(chain) ?? any, SIGN, params)) as Signed | null;
    // If the wallet has changed the compute budget, it returns the changed transaction instead of a signature.
    if (typeof answer?.transaction === "string") return [{ signedTransaction: fromBase64(answer.transaction) }];
    const signature = fromBase58(String(answer?.signature ?? ""), SIGNATURE);
    if (!signature) throw new Error("The wallet gave no signature.");
    const signedTransaction = transaction.slice();
    signedTransaction.set(signature, 1 + SIGNATURE);
    return [{ signedTransaction }];
  };
  return {
    name,
    icon: null,
    chains: [...networks.keys()],
    features: {
      "standard:connect": { connect: async () => ({ accounts: accounts() }) },
      "standard:events": { on: (_: string, listener: (change: object) => void) => session.onChange(() => listener({ accounts: accounts() })) },
      // Without the first feature, a wallet can't send transactions. The page itself doesn't send them.
      ...(session.allows("solana", SEND) ? { "solana:signAndSendTransaction": { signAndSendTransaction: send } } : {}),
      "solana:signTransaction": session.allows("solana", SIGN) ? { signTransaction: authorize } : {},
      "solana:signMessage": { signMessage: sign },
    },
  };
}

function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
