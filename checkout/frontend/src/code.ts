/**
 * A QR code as an SVG element. The page's Trusted Types policy forbids parsing markup, so the element is built by
 * script.
 */

import { encode } from "uqr";

const SVG = "http://www.w3.org/2000/svg";
/** The margin around the code, in modules, as ISO/IEC 18004 requires. */
const QUIET_ZONE = 4;

/** Draw the code, black on white in every theme. */
export function codeOf(text: string, label: string): SVGSVGElement {
  const { data, size } = encode(text, { ecc: "M", border: QUIET_ZONE });
  const rows = data.map((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")).join(""));
  const svg = shape("svg", { viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": label, "shape-rendering": "crispEdges" });
  svg.append(shape("path", { d: `M0 0h${size}v${size}H0z`, fill: "#fff" }), shape("path", { d: rows.join(""), fill: "#000" }));
  return svg;
}

function shape<K extends keyof SVGElementTagNameMap>(name: K, attributes: Record<string, string>): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  return element;
}
