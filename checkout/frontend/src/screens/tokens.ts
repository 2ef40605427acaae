/** The list of tokens that the connected wallet can pay with. */

import { copy } from "../copy";
import { button, el, initial, webUrl, type Child } from "../dom";
import type { Flow } from "../flow/flow";
import type { Option } from "../flow/balances";
import type { Notice } from "../flow/notices";
import type { Connected } from "../flow/states";
import { untranslated } from "../language";
import { dollars, held, needed } from "../money";
import { words } from "../pay/words";
import type { PayContext } from "./context";
import type { Screen } from "./panel";
import { actions, money, noticeBox, paragraph, partialBox, screen, smallPrint } from "./parts";

const ROWS_BEFORE_SEARCH = 8;
const HUES = 12;
/** If a token has no logo, this many letters of its symbol are shown instead. */
const LETTERS = 4;

export function tokenScreen(step: Connected & { notice?: Notice }, context: PayContext): Screen {
  const { checkout, chains, flow } = context;
  const { wallet } = step;
  const isNative = wallet.family === chains.requested.chain_type;
  const options = flow.balances?.options(isNative) ?? [];
  const isLoading = flow.balances?.isLoading ?? false;
  const others = options.filter(({ isRequested }) => !isRequested).length;
  const rows = options.map((option) => tokenRow(option, context));
  const needsSearch = options.length > ROWS_BEFORE_SEARCH;
  const isEmpty = !isLoading && others === 0 && !options.some(({ isEnough, isRequested }) => isRequested && isEnough);
  const left = money(checkout.amount_remaining, checkout);
  return screen(
    "tokens",
    words.tokens,
    [
      partialBox(checkout),
      noticeBox(step.notice),
      paragraph(words.tokensHelp(checkout.merchant.name, left)),
      flow.isRoutingDown && noticeBox(routingNotice(context, isNative)),
      needsSearch ? searchBox(flow, rows, options, context) : null,
      rows.length > 0 && el("ul", { class: `tokens ${needsSearch ? "tokens--many" : ""}`, id: "tokens" }, ...rows),
      isEmpty && paragraph(words.nothingToPayWith(wallet.name)),
      quietLine(context, isLoading),
      actions(
        siblingButton(step, flow),
        !isLoading && button("look-again", "quiet", words.lookAgain, () => flow.showTokens(undefined, true)),
        button("use-another-wallet", "quiet", words.useAnotherWallet, () => flow.restart()),
      ),
    ],
    step.notice?.text,
  );
}

function routingNotice({ checkout }: PayContext, isNative: boolean): Notice {
  const wanted = copy.tokenOnChain(checkout.token.symbol, checkout.chain.name);
  return { tone: "info", text: isNative ? words.routingDownDirect(wanted) : words.routingDown };
}

function siblingButton({ wallet }: Connected, flow: Flow): Child {
  const sibling = flow.means.siblingOf(wallet);
  const label = sibling && words.otherFamily(words.family(sibling.family));
  if (!label) return null;
  return button("other-family", "secondary", label, () => void flow.changeFamily());
}

/** The line about balances that are still loading, or that couldn't be loaded. */
function quietLine({ chains, flow }: PayContext, isLoading: boolean): HTMLElement | null {
  if (isLoading) return smallPrint(words.loadingTokens);
  const missing = flow.balances?.unavailable ?? [];
  if (missing.length > 0) return smallPrint(words.unavailableChains(missing.map((id) => chains.name(id)).join(", ")));
  return flow.balances?.isIncomplete ? smallPrint(words.walletNotRead) : null;
}

/** Hides rows without a redraw, because the customer is typing. */
function searchBox(flow: Flow, rows: HTMLElement[], options: Option[], { chains }: PayContext): HTMLElement {
  const nothing = el("p", { class: "help", hidden: "" }, words.noTokenFound);
  const attributes = { id: "token-search", class: "search", type: "search", autocomplete: "off", spellcheck: "false" };
  const input = el("input", { ...attributes, "aria-label": words.searchTokens, placeholder: words.searchTokens });
  const narrow = (): void => {
    flow.filter = input.value;
    const words = input.value.toLowerCase().split(/\s+/);
    let shown = 0;
    options.forEach((option, index) => {
      const { symbol, name, contract_address: address } = option.token;
      const text = [symbol, name, address, chains.name(option.chainId)].join(" ").toLowerCase();
      const isShown = words.every((word) => text.includes(word));
      shown += Number(isShown);
      rows[index]?.toggleAttribute("hidden", !isShown);
    });
    nothing.hidden = shown > 0;
  };
  input.value = flow.filter;
  input.addEventListener("input", narrow);
  narrow();
  return el("div", {}, input, nothing);
}

function tokenRow(option: Option, context: PayContext): HTMLElement {
  const { flow, chains } = context;
  const reason = whyNot(option, context);
  const { symbol, contract_address: address } = option.token;
  const chain = chains.name(option.chainId);
  const isForeign = option.token.id === null;
  const parts: Child[] = [
    coin(option, context),
    el(
      "span",
      { class: "token__what" },
      el("bdi", { class: "token__symbol" }, symbol),
      " ",
      option.isRequested && el("span", { class: "tag" }, words.noConversion),
      el("small", {}, words.onChain(chain)),
    ),
    el(
      "span",
      { class: "token__held" },
      option.balance ? el("span", {}, untranslated(held(option.balance))) : el("small", {}, words.balanceUnknown),
      el("small", {}, ...aside(dollars(option.usd), reason)),
    ),
    isForeign && el("small", { class: "token__address" }, words.outsideCatalogue, " ", el("code", {}, address)),
  ];
  const kind = `token ${option.isRequested ? "token--requested" : ""} ${reason ? "token--short" : ""}`;
  if (reason) return el("li", {}, el("div", { class: kind }, ...parts));
  const id = `token-${option.chainId}-${address || "coin"}`;
  const row = el("button", { type: "button", id, class: kind }, ...parts);
  row.addEventListener("click", () => void flow.pick(option));
  return el("li", {}, row);
}

/**
 * A line with the token's value and the reason why the token can't be chosen. Each piece has its own element, so that
 * the line breaks between the pieces if possible.
 */
function aside(...pieces: (string | null)[]): Child[] {
  const given = pieces.filter(Boolean).map((piece) => el("span", { class: "piece" }, piece));
  return given.flatMap((piece, index) => (index ? [" · ", piece] : [piece]));
}

/** The reason why a token can't be chosen, or null if it can. */
function whyNot({ isRequested, isEnough, balance }: Option, { checkout, flow }: PayContext): string | null {
  if (isRequested) {
    return isEnough || !balance ? null : words.needed(needed(checkout.amount_remaining));
  }
  if (flow.isRoutingDown) return words.notOffered;
  return isEnough ? null : words.notEnough;
}

/** A token's logo with the logo of its network. So the same token looks different on two networks. */
function coin(option: Option, { chains }: PayContext): HTMLElement {
  const { token, chainId, logo } = option;
  const chain = chains.get(chainId);
  return el(
    "span",
    { class: "coin", "aria-hidden": "true" },
    pictured("coin__face", [...token.symbol].slice(0, LETTERS).join(""), logo, token.id === null ? null : `${chainId}${token.contract_address}`),
    pictured("coin__chain", initial(chain?.name ?? ""), chain?.logo ?? null, String(chainId)),
  );
}

/**
 * A logo. Until the logo is loaded, its place shows letters on a colour that depends on `key`. An unknown token has no
 * `key` and no colour.
 */
function pictured(name: string, letters: string, logo: string | null, key: string | null): HTMLElement {
  const face = el("span", { class: key === null ? name : `${name} ${name}--coloured` }, letters);
  if (key !== null) face.style.setProperty("--hue", String(hueOf(key)));
  const url = webUrl(logo);
  if (url) {
    const picture = el("img", { class: "coin__logo", src: url, alt: "" });
    picture.addEventListener("load", () => {
      face.replaceChildren(picture);
      face.className = name;
    });
  }
  return face;
}

/** The same text always has the same colour. */
function hueOf(text: string): number {
  let hash = 0;
  for (const character of text.toLowerCase()) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 65_521;
  return ((hash % HUES) * 360) / HUES;
}
