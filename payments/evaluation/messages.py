"""The reasons why a transaction does not pay a request, for customers and merchants."""

SWEPT = (
    "The transaction moved what had arrived at a deposit address to the recipient. What arrived there counts for the "
    "payment request of that address alone."
)
WRONG_CHAIN = "The transaction is not on the requested network."
NOT_OUR_SWAP = (
    "The transaction is not on the requested network, and it is not a swap that was offered for this request, so it "
    "can't be matched to this request."
)
AT_ADDRESS = "In a block; waiting until the deposit address shows the coin."
UNREADABLE = (
    "The transaction is too large for this network's nodes to return, so it can't be verified at the moment."
)
UNKNOWN_FORM = (
    "The transaction is in a form that this service can't read, so it can't be verified at the moment."
)
