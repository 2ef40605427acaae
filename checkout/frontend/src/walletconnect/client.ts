/** WalletConnect's library, without telemetry and other third-party requests. */

import { Core } from "@walletconnect/core";
import { SignClient } from "@walletconnect/sign-client";
import { TabStorage } from "./storage";

export type Client = Awaited<ReturnType<typeof SignClient.init>>;
type Relayer = InstanceType<typeof Core>["relayer"];
type Options = Parameters<Relayer["publish"]>[2];
type Settings = NonNullable<Parameters<typeof SignClient.init>[0]>;

export interface ClientSetup {
  projectId: string;
  relayUrl: string;
  /** The name that wallets show for this page. */
  name: string;
  description: string;
}

/** Create a client. It contacts the relay only if this tab already has a session. */
export async function openClient({ projectId, relayUrl, name, description }: ClientSetup): Promise<Client> {
  const logger = "silent";
  const core = new Core({ projectId, relayUrl, logger, telemetryEnabled: false, storage: new TabStorage() });
  // Verification would load a third party's frame. Without it, wallets show this page's address as unverified.
  core.verify.register = async () => undefined;
  stripMetadata(core.relayer);
  const metadata = { name, description, url: location.origin, icons: [] };
  // The library's own classes and interfaces disagree on which properties may be undefined.
  return SignClient.init({ core, logger, metadata } as Settings);
}

/** Remove the unencrypted metadata that the library sends to the relay with each message: method, network, contract. */
function stripMetadata(relayer: Relayer): void {
  const { publish, publishCustom } = relayer;
  relayer.publish = (topic, message, options) => publish.call(relayer, topic, message, bare(options));
  relayer.publishCustom = ({ payload, opts }) => publishCustom.call(relayer, { payload, opts: bare(opts) ?? {} });
}

/** Keep only the correlation id, which matches responses to requests. */
function bare(options: Options): Options {
  if (!options?.tvf) return options;
  const { tvf, ...sealed } = options;
  return tvf.correlationId === undefined ? sealed : { ...sealed, tvf: { correlationId: tvf.correlationId } };
}
