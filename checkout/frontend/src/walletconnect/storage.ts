/** Stores WalletConnect's keys and session for this tab, until the tab is closed. */

const PREFIX = "quittance:walletconnect:";

export class TabStorage {
  private readonly kept: Pick<Storage, "getItem" | "setItem" | "removeItem"> & { keys: () => string[] };

  constructor() {
    this.kept = tabStorage() ?? memory();
  }

  async getKeys(): Promise<string[]> {
    return this.kept.keys().map((key) => key.slice(PREFIX.length));
  }

  async getEntries<T = unknown>(): Promise<[string, T][]> {
    const keys = await this.getKeys();
    return Promise.all(keys.map(async (key): Promise<[string, T]> => [key, (await this.getItem<T>(key)) as T]));
  }

  async getItem<T = unknown>(key: string): Promise<T | undefined> {
    const text = this.kept.getItem(PREFIX + key);
    return text === null ? undefined : (JSON.parse(text) as T);
  }

  async setItem<T = unknown>(key: string, value: T): Promise<void> {
    try {
      this.kept.setItem(PREFIX + key, JSON.stringify(value));
    } catch {
      // The storage is full. So the session can't continue after a reload, but that doesn't affect a payment.
    }
  }

  async removeItem(key: string): Promise<void> {
    this.kept.removeItem(PREFIX + key);
  }
}

/** Null if storage is blocked, as in some frames. */
function tabStorage(): TabStorage["kept"] | null {
  try {
    const storage = sessionStorage;
    storage.setItem(PREFIX, "");
    storage.removeItem(PREFIX);
    return {
      getItem: (key) => storage.getItem(key),
      setItem: (key, value) => storage.setItem(key, value),
      removeItem: (key) => storage.removeItem(key),
      keys: () => Object.keys(storage).filter((key) => key.startsWith(PREFIX)),
    };
  } catch {
    return null;
  }
}

function memory(): TabStorage["kept"] {
  const kept = new Map<string, string>();
  return {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
    keys: () => [...kept.keys()],
  };
}
