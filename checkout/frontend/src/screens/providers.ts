/** The names of routing providers. */

/** The display name of a routing provider, from the page's data. */
export function providerName(provider: string | null): string {
  const names = JSON.parse(document.getElementById("checkout")?.dataset.providers ?? "{}") as Record<string, string>;
  return names[provider ?? ""] ?? provider ?? "";
}
