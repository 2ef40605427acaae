/** Saves unsigned transactions as files: as plain JSON, and in the format of a Safe's Transaction Builder. */

export interface Unsigned {
  to: string;
  data: string;
  value: string;
}

/** The format is in safe-global/safe-react-apps, `apps/tx-builder/src/typings/models.ts`. Values are decimal. */
export function safeBatch(transactions: readonly Unsigned[], chainId: number, createdAt: number): object {
  return {
    version: "1.0",
    chainId: String(chainId),
    createdAt,
    meta: { name: "Sweep deposit addresses", description: "" },
    transactions: transactions.map(({ to, data, value }) => ({ to, value: BigInt(value).toString(), data })),
  };
}

export function save(name: string, content: object): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(content, null, 2)], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Some browsers read the file a while after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
