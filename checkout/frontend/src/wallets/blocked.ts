/** Detects that the page's Content-Security-Policy has blocked a script, perhaps a wallet's. */

/** The blocked scripts that the page's head recorded before this script ran. */
type Early = { blockedScripts?: SecurityPolicyViolationEvent[] };

const SCRIPTS = /^(script-src|require-trusted-types-for)/;

/** Calls back once, when the policy has blocked a script that isn't the page's own. */
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

/** The page's own files are never blocked. So a blocked script is from a browser, an extension or a wallet. */
function isBlockedScript({ effectiveDirective, disposition }: SecurityPolicyViolationEvent): boolean {
  return disposition !== "report" && SCRIPTS.test(effectiveDirective);
}
