/**
 * Sponsored payments: the payer only signs a transfer. Another account sends it and pays the network fee. If the
 * request can have sponsored payments, their script is loaded together with the routes.
 */

import { copy } from "../copy";
import { tagOf } from "../flow/choice";
import { info, walletNotice, type Notice } from "../flow/notices";
import type { Means, SponsoredRoutes, Stage } from "../flow/stage";
import type { Plan, Ready, Reviewed } from "../flow/states";
import type { Route } from "../server/types";
import { refusalOf } from "../wallets/refusals";
import type { Wallet } from "../wallets/wallet";

type Part = typeof import("./main");

const kit = { copy, info, walletNotice, refusalOf };

export class SponsoredWay implements SponsoredRoutes {
  private part: Part | null = null;

  constructor(
    private readonly stage: Stage,
    private readonly means: Means,
  ) {}

  async load(): Promise<void> {
    const { sponsoredScript: script } = this.means;
    // The file name may contain a digest, so the server provides it.
    if (script) this.part ??= await (import(script) as Promise<Part>).catch(() => null);
  }

  /** The offered routes by which this wallet and this page can pay. */
  usable(routes: Route[], { authorize }: Wallet): Route[] {
    return this.part && authorize ? routes : routes.filter((route) => !route.sponsored);
  }

  /** The route to review first: the sponsored one, or the one with the tag, or the recommended one. */
  preferred(routes: readonly Route[], tag: string): Route | undefined {
    const ordinary = routes.filter((route) => !route.sponsored);
    const free = this.means.choice.paysFee ? undefined : routes.find((route) => route.sponsored);
    return free ?? ordinary.find(({ tags }) => tags.includes(tag)) ?? ordinary[0];
  }

  /** The new route that replaces this one. */
  renewed(routes: readonly Route[], route: Route): Route | undefined {
    return this.preferred(routes.filter((other) => !other.sponsored === !route.sponsored), tagOf(route)) ?? this.preferred(routes, "");
  }

  /** Review the other direct route (see `otherDirect`). */
  change(step: Reviewed): void {
    const { step: now } = this.stage;
    const other = otherDirect(step);
    if (!other || now.at !== "review" || now.route !== step.route) return;
    this.means.choice.paysFee = !other.sponsored;
    this.stage.review({ ...step, route: other });
  }

  /** Let the customer pay the network fee, with a notice that explains why. */
  async fallBack(reviewed: Reviewed, notice: Notice, current: () => boolean): Promise<void> {
    this.means.choice.paysFee = true;
    const route = otherDirect(reviewed);
    // Leave out the other routes, because the review would offer the sponsored one again.
    if (route) this.stage.review({ ...reviewed, route, routes: [route] }, notice);
    else await this.stage.quote(reviewed, current, notice);
  }

  /** Whether the built transfer is exactly the reviewed one. */
  async matches(ready: Ready): Promise<boolean> {
    return (await this.part?.transferOf(ready, this.means)) != null;
  }

  /** Have the wallet sign the transfer, and submit the signature. */
  async confirm(ready: Ready, plan: Plan, current: () => boolean): Promise<void> {
    await this.part?.confirm(kit, this, this.stage, this.means, { ready, plan, current });
  }
}

/** The direct route that differs only in who pays the network fee. */
export function otherDirect({ route, routes = [] }: Reviewed): Route | undefined {
  return route.type === "direct" ? routes.find((other) => !other.sponsored !== !route.sponsored) : undefined;
}
