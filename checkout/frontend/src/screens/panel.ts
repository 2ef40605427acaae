/** The part of the page that changes: swaps whole screens, keeps the keyboard's place, tells screen readers. */

import { el } from "../dom";
import { Press } from "./press";

export interface Screen {
  /** Screens with one name are one place: moving between names moves the focus to the heading. */
  name: string;
  heading: string;
  nodes: Node[];
  /** What a screen reader hears when this differs from what it heard last; the heading by default. */
  spoken?: string;
}

export class Panel {
  private name = "";
  private spoken = "";
  private readonly press: Press;
  /** The newest screen that came during a press. */
  private held: Screen | null = null;

  constructor(
    private readonly root: HTMLElement,
    private readonly status: HTMLElement,
  ) {
    this.press = new Press(root, () => this.held && this.show(this.held));
  }

  /** Shows the screen, after the press that is under way, if there is one. */
  show(screen: Screen): void {
    this.held = this.press.isDown ? screen : null;
    if (this.held) return;
    const focused = this.root.contains(document.activeElement) ? document.activeElement : null;
    const isNew = this.name !== "" && screen.name !== this.name;
    // Nothing else on the page has the focus, as when a wallet's window took it away.
    const isFree = document.hasFocus() && document.activeElement === document.body;
    const heading = el("h2", { id: "panel-heading", tabindex: "-1" }, screen.heading);
    this.root.replaceChildren(heading, ...screen.nodes);
    this.root.dataset.screen = screen.name;
    if (focused || (isNew && isFree)) this.restoreFocus(screen, focused?.id ?? "", heading);
    this.name = screen.name;
    this.say(screen.spoken ?? screen.heading);
  }

  announce(text: string): void {
    // The same text twice is no change to a live region; an empty moment makes it one.
    this.status.textContent = "";
    requestAnimationFrame(() => (this.status.textContent = text));
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
