// A scripted wallet. `plan.answers` has a list of responses for each method.
(plan) => {
  const listeners = new Map();
  const known = new Set(plan.known ?? [plan.chainId]);
  const mark = `stub:${plan.name}`;
  // Like a real wallet, it still shows the same account after a reload.
  const kept = `${mark}:accounts`;
  const state = { chainId: plan.chainId, accounts: JSON.parse(sessionStorage.getItem(kept)) ?? plan.accounts };
  const answers = plan.answers ?? {};
  const asked = [];
  const hex = (number) => `0x${number.toString(16)}`;
  const error = (code, message = "") => Object.assign(new Error(message), { code });
  const emit = (event, value) => (listeners.get(event) ?? []).forEach((listener) => listener(value));
  const change = (chainId) => {
    state.chainId = chainId;
    emit("chainChanged", hex(chainId));
    return null;
  };
  const usual = {
    eth_chainId: () => hex(state.chainId),
    eth_accounts: () => (sessionStorage.getItem(mark) ? state.accounts : []),
    eth_requestAccounts: () => {
      sessionStorage.setItem(mark, "1");
      return state.accounts;
    },
    wallet_switchEthereumChain: ([{ chainId }]) => {
      if (!known.has(Number(chainId))) throw error(4902, "Unrecognized chain ID");
      return change(Number(chainId));
    },
    wallet_addEthereumChain: ([{ chainId }]) => {
      known.add(Number(chainId));
      return plan.changesToAdded ? change(Number(chainId)) : null;
    },
    eth_sendTransaction: ([transaction]) => window.sendByNode(transaction),
    eth_signTypedData_v4: ([, data]) => window.signTypedData(data),
    eth_getTransactionReceipt: ([hash]) => window.receiptOf(hash),
  };
  // `plan.batches` is the wallet's atomic capability. The hash of the batch's last call counts as the batch's
  // transaction.
  const sentBatches = () => JSON.parse(sessionStorage.getItem(`${mark}:batches`) ?? "{}");
  if (plan.batches) {
    usual.wallet_getCapabilities = () => ({ [hex(state.chainId)]: { atomic: { status: plan.batches } } });
    usual.wallet_sendCalls = async ([{ id, from, chainId, calls }]) => {
      let hash = null;
      for (const call of calls) hash = await window.sendByNode({ from, chainId, ...call });
      sessionStorage.setItem(`${mark}:batches`, JSON.stringify({ ...sentBatches(), [id]: hash }));
      return { id };
    };
    usual.wallet_getCallsStatus = async ([id]) => {
      const transactionHash = sentBatches()[id];
      if (!transactionHash) throw error(5730, "No such batch");
      const receipt = await window.receiptOf(transactionHash);
      const about = { version: "2.0.0", id, chainId: hex(state.chainId), atomic: true };
      return receipt ? { ...about, status: 200, receipts: [{ ...receipt, transactionHash }] } : { ...about, status: 100 };
    };
  }
  const reads = ["eth_getTransactionByHash", "eth_getTransactionCount", "eth_blockNumber", "eth_getBlockByNumber"];
  if (plan.findsByNonce) reads.push("eth_getTransactionBySenderAndNonce");
  for (const method of reads) usual[method] = (params) => window.askNode(method, params ?? []);
  const request = async ({ method, params }) => {
    asked.push({ method, params });
    const planned = answers[method]?.shift();
    if (planned === "never") return new Promise(() => undefined);
    if (planned === "later") return new Promise((resolve) => (stub.answer = resolve));
    if (planned && "throws" in planned) throw planned.throws;
    if (planned?.error) throw Object.assign(new Error(planned.error.message ?? ""), planned.error);
    if (planned && "gives" in planned) return planned.gives;
    if (!usual[method]) throw error(4200);
    return usual[method](params);
  };
  const provider = {
    request,
    on: (event, listener) => listeners.set(event, [...(listeners.get(event) ?? []), listener]),
    removeListener: (event, listener) =>
      listeners.set(event, (listeners.get(event) ?? []).filter((other) => other !== listener)),
  };
  const stub = ((window.stubs ??= {})[plan.key] = { asked, emit, change, state, answers });
  if (plan.isInjected) {
    window.ethereum = provider;
    return;
  }
  const info = Object.freeze({ uuid: crypto.randomUUID(), name: plan.name, icon: plan.icon, rdns: "com.example.stub" });
  const announce = () =>
    dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }));
  addEventListener("eip6963:requestProvider", announce);
  announce();
}
