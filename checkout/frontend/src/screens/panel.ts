/** The panel that shows one screen at a time, keeps the keyboard focus, and announces changes to screen readers. */

import { el } from "../dom";
import { withoutMarks } from "../marks";
import { Press } from "./press";

export interface Screen {
  /** A change of name moves the focus to the heading; a redraw with the same name keeps it. */
  name: string;
  heading: string;
  nodes: Node[];
  /**
   * The text for screen readers, by default the heading. It is announced only if it differs from the last announcement.
   */
  spoken?: string;
}

export class Panel {
  private name = "";
  private spoken = "";
  private readonly press: Press;
  /** The latest screen, while a press delays it. */
  private held: Screen | null = null;

  constructor(
    private readonly root: HTMLElement,
    private readonly status: HTMLElement,
  ) {
    this.press = new Press(root, () => this.held && this.show(this.held));
  }

  /** Show the screen; if the customer is pressing a button, after the press. */
  show(screen: Screen): void {
    this.held = this.press.isDown ? screen : null;
    if (this.held) return;
    const focused = this.root.contains(document.activeElement) ? document.activeElement : null;
    const isNew = this.name !== "" && screen.name !== this.name;
    // Nothing on the page has the focus, for example after a wallet's window had it.
    const isFree = document.hasFocus() && document.activeElement === document.body;
    const heading = el("h2", { id: "panel-heading", tabindex: "-1" }, screen.heading);
    this.root.replaceChildren(heading, ...screen.nodes);
    this.root.dataset.screen = screen.name;
    if (focused || (isNew && isFree)) this.restoreFocus(screen, focused?.id ?? "", heading);
    this.name = screen.name;
    this.say(screen.spoken ?? screen.heading);
  }

  announce(text: string): void {
    // Clear the live region first: setting the same text again would not be announced.
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
