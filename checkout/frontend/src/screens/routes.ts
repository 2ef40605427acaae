/** The comparison of two routes: the cost and duration of each. */

import { button, el } from "../dom";
import { outlayOf, toolsOf, totalUsd } from "../flow/route-cache";
import type { Chosen } from "../flow/states";
import { untranslated } from "../language";
import { costs, dollars } from "../money";
import { words } from "../pay/words";
import type { Route } from "../server/types";
import type { PayContext } from "./context";
import type { Screen } from "./panel";
import { actions, money, paragraph, screen } from "./parts";
import { providerName } from "./providers";

export function routesScreen(step: Chosen & { routes: readonly Route[] }, { checkout, flow }: PayContext): Screen {
  const rows = step.routes.map((route, index) => {
    const row = el(
      "button",
      { type: "button", class: "route", id: `route-${index}` },
      el("span", { class: "route__tags" }, ...shownTags(route).map((tag) => el("span", { class: "tag" }, tag))),
      el("strong", { class: "route__cost" }, untranslated(`${costs(outlayOf(route))} ${route.from.token.symbol}`)),
      el("span", { class: "route__time" }, timeOf(route)),
      el("small", { class: "route__way" }, [dollars(totalUsd(route)), wayOf(route)].filter(Boolean).join(" · ")),
    );
    row.addEventListener("click", () => flow.take(route));
    return el("li", {}, row);
  });
  return screen("routes", words.routes, [
    paragraph(words.routesHelp(checkout.merchant.name, money(checkout.amount_remaining, checkout))),
    el("ul", { class: "wallets" }, ...rows),
    actions(button("other-token", "quiet", words.otherToken, () => flow.showTokens())),
  ]);
}

export function timeOf(route: Route): string {
  return route.duration_seconds === null ? words.durationUnknown : words.duration(route.duration_seconds);
}

/** "Stargate (LI.FI)". */
export function wayOf(route: Route): string {
  return words.through(providerName(route.provider), toolsOf(route).join(", "));
}

function shownTags(route: Route): string[] {
  return route.tags.flatMap((tag) => words.tags[tag] ?? []);
}
