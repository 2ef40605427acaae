/** The panel shows one screen at a time, keeps the keyboard focus, and announces changes to screen readers. */

import { el } from "../dom";
import { withoutMarks } from "../marks";
import { Press } from "./press";

export interface Screen {
  /** If the name changes, the focus moves to the heading. If it is the same, the focus stays. */
  name: string;
  heading: string;
  nodes: Node[];
  /**
   * The text for screen readers. By default, it is the heading. A text is announced only if it differs from the last
   * announced text.
   */
  spoken?: string;
}

export class Panel {
  private name = "";
  private spoken = "";
  private readonly press: Press;
  /** The next screen, if a press delays it. */
  private held: Screen | null = null;

  constructor(
    private readonly root: HTMLElement,
    private readonly status: HTMLElement,
  ) {
    this.press = new Press(root, () => this.held && this.show(this.held));
  }

  /** Show the screen. If the customer is pressing a button, wait for the end of the press. */
  show(screen: Screen): void {
    this.held = this.press.isDown ? screen : null;
    if (this.held) return;
    const focused = this.root.contains(document.activeElement) ? document.activeElement : null;
    const isNew = this.name !== "" && screen.name !== this.name;
    // Nothing on the page has the focus. For example, a wallet's window had it.
    const isFree = document.hasFocus() && document.activeElement === document.body;
    const heading = el("h2", { id: "panel-heading", tabindex: "-1" }, screen.heading);
    this.root.replaceChildren(heading, ...screen.nodes);
    this.root.dataset.screen = screen.name;
    if (focused || (isNew && isFree)) this.restoreFocus(screen, focused?.id ?? "", heading);
    this.name = screen.name;
    this.say(screen.spoken ?? screen.heading);
  }

  announce(text: string): void {
    // Clear the live region first. Otherwise the same text would not be announced again.
    this.status.textContent = "";
    requestAnimationFrame(() => (this.status.textContent = withoutMarks(text)));
  }

  private say(text: string): void {
    const first = this.spoken === "";
    if (text === this.spoken) return;
    this.spoken = text;
    if (!first) this.announce(text);
  }

  private restoreFocus(screen: Screen, id: string, heading: HTMLElement): void {
    const again = screen.name === this.name && id ? document.getElementById(id) : null;
    (again ?? heading).focus({ preventScroll: again !== null });
  }
}
