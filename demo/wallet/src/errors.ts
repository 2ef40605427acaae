/** An error of an EIP-1193 provider. A page gets this error if the wallet rejects the page's request. */
export class ProviderError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
    this.name = "ProviderError";
  }
}

export const userRejected = () => new ProviderError(4001, "The user rejected the request.");
export const unauthorized = () => new ProviderError(4100, "This page is not connected to the wallet's account.");
export const unsupported = (method: string) => new ProviderError(4200, `The wallet does not support ${method}.`);
export const chainDisconnected = (name: string) => new ProviderError(4901, `The wallet has no node for ${name}.`);
export const unknownChain = (id: string) =>
  new ProviderError(4902, `Unknown chain ${id}. Add it with wallet_addEthereumChain first.`);
export const invalidParams = (message: string) => new ProviderError(-32602, message);
