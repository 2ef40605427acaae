import { APIError } from "./errors.js";

export type QueryValue = string | number | boolean | Date | null | undefined;
export type Query = Record<string, QueryValue>;
type Fetch = (query: Query) => Promise<unknown>;

/** The parameters of every list. `starting_after` and `ending_before` are ids. Set at most one of them. */
export interface ListParams {
  /** The page size, from 1 to 100. Default: 20. */
  limit?: number;
  starting_after?: string;
  ending_before?: string;
}

/** A page of a list, newest first. */
export class Page<T extends { id: string }> implements AsyncIterable<T> {
  readonly object = "list";
  readonly url: string;
  /** Whether there are more objects in the requested direction. */
  readonly has_more: boolean;
  readonly data: T[];
  readonly #fetch: Fetch;
  readonly #query: Query;
  readonly #read: (answer: unknown) => T;

  constructor(answer: unknown, query: Query, fetch: Fetch, read: (answer: unknown) => T) {
    const page = answer as { data?: unknown; url?: string; has_more?: boolean } | null;
    if (!Array.isArray(page?.data)) {
      throw new APIError("The response is not a list. Check baseUrl.");
    }
    this.url = page.url ?? "";
    this.has_more = page.has_more ?? false;
    this.data = page.data.map(read);
    this.#fetch = fetch;
    this.#query = query;
    this.#read = read;
  }

  /** Returns the next page in the same direction, or null after the last. */
  async nextPage(): Promise<Page<T> | null> {
    const edge = this.#goesBackUp ? this.data[0] : this.data[this.data.length - 1];
    if (!this.has_more || edge === undefined) return null;
    const query = { ...this.#query, [this.#goesBackUp ? "ending_before" : "starting_after"]: edge.id };
    return new Page(await this.#fetch(query), query, this.#fetch, this.#read);
  }

  /**
   * Iterates over this page and all following pages. Pages are loaded when they are needed. With `ending_before`, the
   * oldest object comes first, and the newest last.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (let page: Page<T> | null = this; page !== null; page = await page.nextPage()) {
      yield* this.#goesBackUp ? [...page.data].reverse() : page.data;
    }
  }

  get #goesBackUp(): boolean {
    return this.#query["ending_before"] !== undefined;
  }
}

/** A list. Await it to get the first page, or iterate over all pages with `for await`. */
export class List<T extends { id: string }> implements PromiseLike<Page<T>>, AsyncIterable<T> {
  readonly #first: () => Promise<Page<T>>;

  constructor(fetch: Fetch, params: object, read: (answer: unknown) => T) {
    const query = { ...params } as Query;
    let first: Promise<Page<T>> | undefined;
    this.#first = () => (first ??= fetch(query).then((answer) => new Page(answer, query, fetch, read)));
  }

  then<A = Page<T>, B = never>(
    onFulfilled?: ((page: Page<T>) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#first().then(onFulfilled, onRejected);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    yield* await this.#first();
  }
}
