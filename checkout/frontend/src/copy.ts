/** Every sentence the script can show. Placeholders are function arguments, so a translation may reorder them. */

export const copy = {
  pay: (amount: string) => `Pay ${amount}`,
  payWithWallet: "Pay with your wallet",
  chooseWallet: (amount: string, chain: string) => `Choose a wallet to pay ${amount} on ${chain}.`,
  lookingForWallets: "Looking for wallets in this browser…",
  browserWallet: "Browser wallet",
  noWallet: "No wallet found in this browser",
  noWalletHelp: "Open this page in your wallet app’s own browser, or in a browser with a wallet extension.",
  copyPageLink: "Copy the link to this page",
  copied: "Copied",
  unsupportedChain: (chain: string) =>
    `This page cannot pay on ${chain} yet. Please ask the merchant for another way to pay.`,

  back: "Back",
  useAnotherWallet: "Use another wallet",
  tryAgain: "Try again",
  connecting: (wallet: string) => `Connect ${wallet}`,
  connectingHelp: (wallet: string) =>
    `Approve the connection in ${wallet}. This shares your address with this page; it moves no money.`,
  switching: (chain: string) => `Switch to ${chain}`,
  switchingHelp: (wallet: string, chain: string) => `Approve the change of network to ${chain} in ${wallet}.`,
  switchButton: (chain: string) => `Switch to ${chain}`,
  quoting: "Preparing your payment",
  quotingHelp: "This takes a moment.",
  blocked: "This payment can’t go ahead yet",

  review: "Review and pay",
  amount: "Amount",
  network: "Network",
  recipient: "To",
  payer: "From",
  networkFee: "Network fee",
  aboutFee: (fee: string) => `about ${fee}`,
  feeInWallet: "shown by your wallet",
  reviewHelp: (wallet: string) => `${wallet} will ask you to confirm. Check that it shows the same address.`,
  building: "Preparing the transaction",
  confirming: (wallet: string) => `Confirm in ${wallet}`,
  confirmingHelp: (amount: string, wallet: string) =>
    `${wallet} is asking you to send ${amount} to this address. Keep this page open until you have confirmed.`,
  proving: (wallet: string) => `Sign with ${wallet}`,
  provingHelp: (wallet: string) =>
    `${wallet} is showing you a short text that names this payment. Sign it, and the payment itself comes next.`,
  checkingProof: "Thank you. Checking your signature…",
  stepProve: "Prove that this wallet is yours",
  stepProveHelp: "A signature. No money moves.",
  walletClosed: "I can’t see the request",

  notices: {
    rejectedConnection: "You declined the connection. Choose a wallet when you are ready.",
    rejectedSwitch: (chain: string) => `This payment needs your wallet to be on ${chain}.`,
    rejectedPayment: "You declined in your wallet. Nothing was sent.",
    rejectedProof:
      "You declined the signature. Nothing was sent. The merchant needs it to know that the payment is yours.",
    proofLeftOpen: "The signature was left open. If your wallet still asks for it, decline it there, then start again here.",
    proofTooLate: "The signature came too late to be used. Please look at the payment again.",
    cannotProve: (wallet: string) => `${wallet} can’t sign texts, which this payment needs. Please use another wallet.`,
    cannotSend: (wallet: string) => `${wallet} can’t send a payment by itself. Please use another wallet.`,
    unauthorized: "Your wallet has not given this page access to an account. Unlock it, then connect again.",
    alreadyAsking: (wallet: string) => `${wallet} is already waiting for your answer. Open it and finish there.`,
    disconnected: "Your wallet is not connected to its network. Check it, then try again.",
    addNetwork: (chain: string, id: number) =>
      `Your wallet doesn’t know ${chain}. Add the network ${chain} (chain id ${id}) to your wallet, then try again.`,
    wrongNetwork: (chain: string) => `Your wallet is on another network. You will be asked to switch to ${chain} when you pay.`,
    walletFailed: "Your wallet reported a problem.",
    maybeSent: "Your wallet reported a problem. Look at its recent activity before you try again: the payment may have been sent.",
    walletGone: "Your wallet disconnected from this page. Connect it again to go on.",
    accountChanged: "You changed the account in your wallet.",
    amountChanged: "The amount left to pay has changed. Please look again.",
    mismatch: "The transaction doesn’t match what you reviewed, so it was not sent to your wallet. Please tell the merchant.",
    noRoute: "There is no way to pay from this wallet at the moment.",
    promptLeftOpen:
      "A payment was started in this browser a moment ago. If you confirmed it, it will appear here by itself. Look at your wallet’s activity before you pay again.",
    refusedHash: (message: string) => `The transaction was not accepted: ${message}`,
    pageIncomplete: "A part of this page could not be loaded. Check your connection, then load the page again.",
    saidWallet: (detail: string) => `It said: ${detail}`,
  },

  partlyPaid: (paid: string, total: string, rest: string) => `${paid} of ${total} received, ${rest} to go`,
  paidTo: (merchant: string) => `Paid to ${merchant}`,
  leftToPay: (merchant: string) => `Left to pay to ${merchant}`,

  processing: "Payment on its way",
  processingHelp: "You can close this page. The payment goes on without it.",
  stepSent: "Sent",
  stepSeen: "Seen on chain",
  stepConfirmations: (done: number, needed: number) => `Confirmations ${done} of ${needed}`,
  stepFinality: "Confirmed by the network",
  stepPaid: "Paid",
  done: "done",
  inProgress: "in progress",
  notYet: "not yet",
  transaction: "Transaction",
  viewOnExplorer: "View on the block explorer",
  submitting: "Telling the server about your transaction.",
  submitRetrying: "The server can’t be reached. Your transaction is safe in this browser, and we keep trying.",

  paid: "Payment complete",
  paidHelp: (amount: string, merchant: string) => `${merchant} has received ${amount}.`,
  overpaid: (amount: string, merchant: string) => `You paid ${amount} more than was asked. Contact ${merchant} about a refund.`,
  paidLate: "The payment arrived after the deadline and was accepted.",
  returnTo: (merchant: string) => `Return to ${merchant}`,
  goingBack: (merchant: string, seconds: number) =>
    `Taking you back to ${merchant} in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`,
  stay: "Stay on this page",
  mayClose: "You can close this page.",

  failed: "The payment did not go through",
  payAgain: "Pay again",
  checkAgain: "Check again",
  failedDefault: "The network did not complete this transaction.",
  advice: {
    transaction_reverted: "The transaction was undone by the network, so the amount is still in your wallet. You can pay again.",
    transaction_replaced: "If you sped it up in your wallet, enter the new transaction’s hash below. If you cancelled it, you can pay again.",
    transaction_not_found: "If your wallet still shows it as pending, wait and check again. Pay again only once your wallet says that it failed.",
    transaction_not_bound: "The transfer could not be matched to this payment. Don’t pay twice: contact the merchant and name the transaction below.",
    not_verifiable: "Don’t pay twice: check again in a few minutes, or contact the merchant and name the transaction below.",
    verification_timed_out: "Don’t pay twice: check again in a few minutes, or contact the merchant and name the transaction below.",
    transaction_already_used: "This transaction has already paid for something else. Contact the merchant if that looks wrong.",
    other: "If money left your wallet, contact the merchant and name the transaction below. Otherwise you can pay again.",
  } as Readonly<Record<string, string>>,

  timeUp: "Time is up",
  timeUpHelp: "Checking whether a payment is on its way. Please don’t send anything now.",
  expired: "This payment has expired",
  expiredHelp: (merchant: string) => `Please don’t send anything now. Go back to ${merchant} to start again.`,
  sendNothing: "Please don’t send anything now.",
  expiredPart: (paid: string, total: string, merchant: string) =>
    `${paid} of ${total} arrived. Contact ${merchant} about it.`,
  cancelled: "This payment was cancelled",
  cancelledHelp: (merchant: string) => `${merchant} cancelled it. Please don’t send anything.`,
  cancelledPaid: (paid: string, total: string, merchant: string) =>
    `${paid} of ${total} arrived all the same, and ${merchant} knows of it. Contact them about your money.`,

  findEmpty: (family: string) =>
    family === "solana"
      ? "Enter the transaction signature: 87 or 88 letters and digits."
      : "Enter the transaction hash: 0x and 64 more characters.",
  findDone: "Thank you. We are looking for this transaction now.",

  timeLeft: (time: string) => `${time} left`,
  timeLeftSpoken: (seconds: number) => (seconds === 60 ? "One minute left to pay." : `${seconds / 60} minutes left to pay.`),
  daysAndHours: (days: number, hours: number) => `${days} d ${hours} h`,
  hoursAndMinutes: (hours: number, minutes: number) => `${hours} h ${minutes} min`,
  connectionLost: "The connection is interrupted. This page updates by itself when it is back.",

  errors: {
    unreachable: "The payment server could not be reached. Check your connection, then try again.",
    server: "Something went wrong on our side. Please try again in a moment.",
    retryIn: (message: string, seconds: number) => `${message} You can try again in ${seconds} s.`,
  },
} as const;
