/** Notices a wallet whose script the page's content security policy has blocked. */

/** What the page's head has noticed before this script ran. */
type Early = { blockedScripts?: SecurityPolicyViolationEvent[] };

const SCRIPTS = /^(script-src|require-trusted-types-for)/;

/** Calls back once, when the policy blocks a script that is not the page's own. */
export function onBlockedScript(callback: () => void): void {
  const isNoticed = ((window as Early).blockedScripts ?? []).some(isBlockedScript);
  if (isNoticed) return callback();
  const notice = (event: SecurityPolicyViolationEvent): void => {
    if (!isBlockedScript(event)) return;
    document.removeEventListener("securitypolicyviolation", notice);
    callback();
  };
  document.addEventListener("securitypolicyviolation", notice);
}

/** The page's own files are never blocked, so every blocked script is a browser's, an extension's or a wallet's. */
function isBlockedScript({ effectiveDirective, disposition }: SecurityPolicyViolationEvent): boolean {
  return disposition !== "report" && SCRIPTS.test(effectiveDirective);
}
