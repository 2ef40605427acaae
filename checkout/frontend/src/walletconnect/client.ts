/** WalletConnect's own library, with everything in it turned off that is not the two ends talking through the relay. */

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
  /** What a wallet shows its owner: who asks. */
  name: string;
  description: string;
}

/** A client that has contacted no relay yet, unless this tab has a session already. */
export async function openClient({ projectId, relayUrl, name, description }: ClientSetup): Promise<Client> {
  const logger = "silent";
  const core = new Core({ projectId, relayUrl, logger, telemetryEnabled: false, storage: new TabStorage() });
  // Its attestation is a third party's frame in this page: without it, wallets show the address as unverified.
  core.verify.register = async () => undefined;
  keepToTheEnds(core.relayer);
  const metadata = { name, description, url: location.origin, icons: [] };
  // The library's own classes and interfaces disagree on which properties may be undefined.
  return SignClient.init({ core, logger, metadata } as Settings);
}

/** Beside each sealed message the library tells the relay in clear what it is about: method, network, contract. */
function keepToTheEnds(relayer: Relayer): void {
  const { publish, publishCustom } = relayer;
  relayer.publish = (topic, message, options) => publish.call(relayer, topic, message, bare(options));
  relayer.publishCustom = ({ payload, opts }) => publishCustom.call(relayer, { payload, opts: bare(opts) ?? {} });
}

/** Of what goes in clear, the number that says which answer belongs to which question is left. */
function bare(options: Options): Options {
  if (!options?.tvf) return options;
  const { tvf, ...sealed } = options;
  return tvf.correlationId === undefined ? sealed : { ...sealed, tvf: { correlationId: tvf.correlationId } };
}
