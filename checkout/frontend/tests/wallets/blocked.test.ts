import { afterEach, expect, test, vi } from "vitest";
import { onBlockedScript } from "../../src/wallets/blocked";

function violation(effectiveDirective: string, disposition = "enforce"): Event {
  return Object.assign(new Event("securitypolicyviolation", { bubbles: true }), { effectiveDirective, disposition });
}

afterEach(() => void delete (window as { blockedScripts?: unknown }).blockedScripts);

test.each([
  ["script-src-elem", "enforce", 1],
  ["script-src", "enforce", 1],
  ["require-trusted-types-for", "enforce", 1],
  ["script-src-elem", "report", 0],
  ["img-src", "enforce", 0],
  ["connect-src", "enforce", 0],
])("violation of %s (%s) is noticed %i times", (directive, disposition, times) => {
  const noticed = vi.fn();
  onBlockedScript(noticed);
  for (let count = 0; count < 2; count += 1) document.dispatchEvent(violation(directive, disposition));
  expect(noticed).toHaveBeenCalledTimes(times);
});

test("script that was blocked before the page's own ran is noticed", () => {
  Object.assign(window, { blockedScripts: [violation("img-src"), violation("script-src-elem")] });
  const noticed = vi.fn();
  onBlockedScript(noticed);
  expect(noticed).toHaveBeenCalledTimes(1);
});
