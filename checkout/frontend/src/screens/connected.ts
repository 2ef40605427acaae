/** The screens from a connected wallet to a sent transaction. Each step of the flow has one. */

import { copy } from "../copy";
import { button } from "../dom";
import type { Notice } from "../flow/notices";
import type { Chosen, Step } from "../flow/states";
import { words } from "../pay/words";
import type { PayContext } from "./context";
import { busyHint, openApp, slowHint, waitScreen } from "./hints";
import type { Screen } from "./panel";
import { actions, money, noticeBox, screen } from "./parts";
import { approvingScreen, confirmingScreen, provingScreen } from "./prompts";
import { reviewScreen } from "./review";
import { routesScreen } from "./routes";
import { tokenScreen } from "./tokens";

/** A step with a connected wallet. */
export type ConnectedStep = Exclude<Step, { at: "choose" | "preparing" | "deposit" | "connecting" }>;

export function connectedScreen(step: ConnectedStep, context: PayContext): Screen {
  const { flow, chains, checkout } = context;
  switch (step.at) {
    case "looking":
      return waitScreen("looking", copy.looking, copy.quotingHelp, () => flow.back(), busyHint(flow));
    case "tokens":
      return tokenScreen(step, context);
    case "quoting": {
      const hint = busyHint(flow);
      if (step.option.isRequested) {
        return waitScreen("quoting", copy.quoting, copy.quotingHelp, () => flow.back(), hint);
      }
      const help = words.findingRoutesHelp(step.option.token.symbol, money(checkout.amount_remaining, checkout));
      return waitScreen("quoting", words.findingRoutes, help, () => flow.back(), hint);
    }
    case "routes":
      return routesScreen(step, context);
    case "blocked":
      return blockedScreen(step, context);
    case "review":
      return reviewScreen(step, context);
    case "switching": {
      const name = chains.name(step.option.chainId);
      const help = words.switchingHelp(step.wallet.name, name);
      return waitScreen("switching", words.switching(name), help, () => flow.leavePrompt(), slowHint(step, flow), openApp(step.wallet));
    }
    case "building":
      return waitScreen("building", words.building, copy.quotingHelp, null, busyHint(flow));
    case "approving":
      return approvingScreen(step, context);
    case "proving":
      return provingScreen(step, context);
    case "confirming":
      return confirmingScreen(step, context);
  }
}

function blockedScreen(step: Chosen & { notice: Notice; canRetry: boolean }, { flow }: PayContext): Screen {
  const other = flow.means.offersSwaps;
  return screen(
    "blocked",
    words.blocked,
    [
      noticeBox(step.notice),
      actions(
        step.canRetry && button("try-again", "primary", words.tryAgain, () => void flow.retry()),
        other &&
          button("other-token", step.canRetry ? "secondary" : "primary", words.otherToken, () => flow.showTokens()),
        button("use-another-wallet", "quiet", words.useAnotherWallet, () => flow.restart()),
      ),
    ],
    step.notice.text,
  );
}
