/** The messages about the deposit address. The page contains them only if the request can have one. */

import { say } from "../language";

export const words = {
  heading: (amount: string) => say("deposit.heading", { amount }),
  network: (chain: string, id: number) => say("deposit.network", { chain, id }),
  networkHelp: (token: string) => say("deposit.networkHelp", { token }),
  amount: say("deposit.amount"),
  copyAmount: say("deposit.copyAmount"),
  to: say("deposit.to"),
  copyAddress: say("deposit.copyAddress"),
  copy: say("deposit.copy"),
  code: say("deposit.code"),
  fees: say("deposit.fees"),
  waiting: say("deposit.waiting"),
  slow: (merchant: string) => say("deposit.slow", { merchant }),
  seen: say("deposit.seen"),
  rest: (rest: string) => say("deposit.rest", { rest }),
  otherWay: say("deposit.otherWay"),
} as const;
