/**
 * The modules of the main script that other parts of the script also use. The parts are loaded later, and don't contain
 * a copy of them (`parts.mjs`).
 */

import * as chains from "./chains";
import * as copy from "./copy";
import * as dom from "./dom";
import * as families from "./families";
import * as language from "./language";
import * as money from "./money";
import * as flowChoice from "./flow/choice";
import * as flowNotices from "./flow/notices";
import * as flowRouteCache from "./flow/route-cache";
import * as screensBatch from "./screens/batch";
import * as screensHints from "./screens/hints";
import * as screensParts from "./screens/parts";
import * as screensProviders from "./screens/providers";
import * as screensSteps from "./screens/steps";
import * as serverApi from "./server/api";
import * as sponsoredEntry from "./sponsored/entry";
import * as walletsBatch from "./wallets/batch";
import * as walletsRefusals from "./wallets/refusals";
import * as walletsWallet from "./wallets/wallet";

export function shareModules(): void {
  const checkoutModules = {
    "chains": chains,
    "copy": copy,
    "dom": dom,
    "families": families,
    "language": language,
    "money": money,
    "flow/choice": flowChoice,
    "flow/notices": flowNotices,
    "flow/route-cache": flowRouteCache,
    "screens/batch": screensBatch,
    "screens/hints": screensHints,
    "screens/parts": screensParts,
    "screens/providers": screensProviders,
    "screens/steps": screensSteps,
    "server/api": serverApi,
    "sponsored/entry": sponsoredEntry,
    "wallets/batch": walletsBatch,
    "wallets/refusals": walletsRefusals,
    "wallets/wallet": walletsWallet,
  };
  Object.assign(window, { checkoutModules });
}
