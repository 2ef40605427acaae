// A scripted Solana wallet. `plan.answers` has a list of responses for each method.
(plan) => {
  const listeners = new Set();
  const answers = plan.answers ?? {};
  const asked = [];
  const mark = `stub:${plan.key}`;
  const state = { accounts: plan.accounts };
  const account = (address) => ({ address, publicKey: new Uint8Array(32), chains: plan.clusters, features: [] });
  const shown = () => state.accounts.map(account);
  const bytesOf = (numbers) => new Uint8Array(numbers);
  const usual = {
    connect: ({ silent } = {}) => {
      if (!silent) sessionStorage.setItem(mark, "1");
      return { accounts: sessionStorage.getItem(mark) ? shown() : [] };
    },
    signMessage: async ({ message }) => [{ signature: bytesOf(await window.signByLedger([...message])) }],
    signTransaction: async ({ transaction }) => {
      const signed = await window.signTransaction(btoa(String.fromCharCode(...transaction)));
      return [{ signedTransaction: Uint8Array.from(atob(signed), (letter) => letter.charCodeAt(0)) }];
    },
    signAndSendTransaction: async ({ transaction }) => {
      const text = btoa(String.fromCharCode(...transaction));
      return [{ signature: bytesOf(await window.sendByLedger(text)) }];
    },
  };
  const method = (name) => async (params) => {
    asked.push({ method: name, params: { chain: params?.chain, silent: params?.silent, account: params?.account?.address } });
    const planned = answers[name]?.shift();
    if (planned === "never") return new Promise(() => undefined);
    if (planned === "later") return new Promise((resolve) => (stub.answer = resolve));
    if (planned && "throws" in planned) throw planned.throws;
    if (planned?.error) throw Object.assign(new Error(planned.error.message ?? ""), planned.error);
    if (planned && "gives" in planned) return planned.gives;
    return usual[name](params);
  };
  const stub = {
    asked,
    state,
    answers,
    change: (accounts) => {
      state.accounts = accounts;
      for (const listener of listeners) listener({ accounts: shown() });
    },
  };
  (window.stubs ??= {})[plan.key] = stub;
  const on = (_, listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const features = {
    "standard:connect": { version: "1.0.0", connect: method("connect") },
    "standard:events": { version: "1.0.0", on },
    "solana:signAndSendTransaction": { version: "1.0.0", signAndSendTransaction: method("signAndSendTransaction") },
    "solana:signTransaction": { version: "1.0.0", signTransaction: method("signTransaction") },
    "solana:signMessage": { version: "1.0.0", signMessage: method("signMessage") },
  };
  for (const name of plan.without) delete features[name];
  const wallet = { version: "1.0.0", name: plan.name, icon: plan.icon, chains: plan.clusters, accounts: [], features };
  const register = (api) => api.register(wallet);
  addEventListener("wallet-standard:app-ready", ({ detail }) => register(detail));
  dispatchEvent(new CustomEvent("wallet-standard:register-wallet", { detail: register }));
}
