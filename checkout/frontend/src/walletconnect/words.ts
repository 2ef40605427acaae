/** The messages about WalletConnect. The page contains them only if the deployment offers it. */

import { say } from "../language";

export const words = {
  heading: say("walletconnect.heading"),
  help: say("walletconnect.help"),
  opening: say("walletconnect.opening"),
  code: say("walletconnect.code"),
  copy: say("walletconnect.copy"),
  open: say("walletconnect.open"),
  apps: say("walletconnect.apps"),
  openApp: (wallet: string) => say("walletconnect.openApp", { wallet }),
  nothing: say("walletconnect.nothing"),
  relay: say("walletconnect.relay"),
  expired: say("walletconnect.expired"),
  renew: say("walletconnect.renew"),
  unreachable: say("walletconnect.unreachable"),
  tryAgain: say("tryAgain"),
  back: say("back"),
} as const;
