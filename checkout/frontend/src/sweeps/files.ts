/** Saves unsigned transactions as files, in plain JSON and for the Transaction Builder of a Safe. */

export interface Unsigned {
  to: string;
  data: string;
  value: string;
}

/** The format of safe-global/safe-react-apps, `apps/tx-builder/src/typings/models.ts`: values are decimal. */
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
  // Some browsers read the file some time after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
