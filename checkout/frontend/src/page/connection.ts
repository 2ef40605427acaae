/** The line that says that the server can't be reached. */

import { copy } from "../copy";
import { byId } from "../dom";

export function showConnection(isUp: boolean, announce: (text: string) => void): void {
  const line = byId("connection");
  line.textContent = isUp ? "" : copy.connectionLost;
  line.hidden = isUp;
  if (!isUp) announce(copy.connectionLost);
}
