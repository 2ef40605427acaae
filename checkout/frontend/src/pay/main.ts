/** What the page needs once a wallet is connected. Loaded when the customer chooses one. */

export { Batching } from "../flow/batching";
export { Paying } from "../flow/paying";
export { connectedScreen } from "../screens/connected";
