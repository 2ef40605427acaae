/** WalletConnect's library without telemetry and other requests to third parties. */

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

/** Create a client. At the start, it contacts the relay only if this tab already has a session. */
export async function openClient({ projectId, relayUrl, name, description }: ClientSetup): Promise<Client> {
  const logger = "silent";
  const core = new Core({ projectId, relayUrl, logger, telemetryEnabled: false, storage: new TabStorage() });
  // Verification is off, because it would load a frame of a third party. So wallets show this page's address as
  // unverified.
  core.verify.register = async () => undefined;
  stripMetadata(core.relayer);
  const metadata = { name, description, url: location.origin, icons: [] };
  // In the library's types, classes and interfaces differ on which properties may be undefined.
  return SignClient.init({ core, logger, metadata } as Settings);
}

/** The library sends metadata to the relay with each message, unencrypted: method, network, contract. Remove it. */
function stripMetadata(relayer: Relayer): void {
  const { publish, publishCustom } = relayer;
  relayer.publish = (topic, message, options) => publish.call(relayer, topic, message, bare(options));
  relayer.publishCustom = ({ payload, opts }) => publishCustom.call(relayer, { payload, opts: bare(opts) ?? {} });
}

/** Keep only the correlation id, which assigns responses to requests. */
function bare(options: Options): Options {
  if (!options?.tvf) return options;
  const { tvf, ...sealed } = options;
  return tvf.correlationId === undefined ? sealed : { ...sealed, tvf: { correlationId: tvf.correlationId } };
}
