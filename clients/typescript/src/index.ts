/** Client for the HTTP interface of afterthought. */

import createClient, { type Client as FetchClient, type Middleware } from "openapi-fetch";

import type { components, paths } from "./openapi.js";

export type { components, operations, paths } from "./openapi.js";

/** A memory. */
export type Memory = components["schemas"]["Memory"];

export interface Options {
  /** Address of the server; AFTERTHOUGHT_URL or http://127.0.0.1:8787 by default. */
  url?: string;
  /** Token of the server; AFTERTHOUGHT_TOKEN by default. */
  token?: string;
  /** Namespace of all requests that name no other. */
  namespace?: string;
  fetch?: (request: Request) => Promise<Response>;
}

/** The server refused a request. The message says what happened and what to do. */
export class Problem extends Error {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** The memory as it is now, if another change came first. */
  readonly current: Memory | undefined;

  constructor(document: Partial<components["schemas"]["Problem"]>, status: number) {
    super(`${status} ${document.title ?? "Error"}: ${document.detail ?? ""}`);
    this.name = "Problem";
    this.status = status;
    this.title = document.title ?? "Error";
    this.detail = document.detail ?? "";
    this.current = document.current ?? undefined;
  }
}

/** Requests with the types of the interface: `client.GET("/memories/{id}", {params: {path: {id}}})`. */
export type Client = FetchClient<paths>;

/**
 * Returns a client for `afterthought serve http`. Its requests throw a {@link Problem} if the server refuses them, so
 * `data` is always there.
 */
export function connect(options: Options = {}): Client {
  const url = (options.url ?? process.env["AFTERTHOUGHT_URL"] ?? "http://127.0.0.1:8787").replace(/\/+$/, "");
  const token = options.token ?? process.env["AFTERTHOUGHT_TOKEN"];
  if (!token) {
    throw new Error("no token; pass {token}, or set AFTERTHOUGHT_TOKEN to the token of `afterthought serve http`");
  }
  const client = createClient<paths>({
    baseUrl: `${url}/api/v1`,
    headers: { Authorization: `Bearer ${token}` },
    // The server reads a repeated parameter as a list.
    querySerializer: { array: { style: "form", explode: true } },
    ...(options.fetch ? { fetch: options.fetch } : {}),
  });
  const policy: Middleware = {
    onRequest({ request }) {
      const address = new URL(request.url);
      if (options.namespace === undefined || address.searchParams.has("namespace")) {
        return undefined;
      }
      address.searchParams.set("namespace", options.namespace);
      return new Request(address, request);
    },
    async onResponse({ response }) {
      if (response.ok) {
        return;
      }
      const text = await response.text();
      let document: Partial<components["schemas"]["Problem"]>;
      try {
        document = JSON.parse(text);
      } catch {
        document = { title: response.statusText, detail: text.slice(0, 500) };
      }
      throw new Problem(document, response.status);
    },
  };
  client.use(policy);
  return client;
}

/** Yields every memory with its sources, links and evidence. */
export async function* exported(client: Client): AsyncGenerator<components["schemas"]["ExportedMemory"]> {
  const { data } = await client.GET("/export", { parseAs: "stream" });
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of data as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      yield JSON.parse(line);
    }
  }
}
