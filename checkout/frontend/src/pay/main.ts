/** The script for a connected wallet. The page loads it when the customer chooses a wallet. */

export { Batching } from "../flow/batching";
export { Paying } from "../flow/paying";
export { connectedScreen } from "../screens/connected";
