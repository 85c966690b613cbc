import { expect } from "chai";
import type { SeenResponse } from "../openapi/documentCheck.ts";

/** A response and its body. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  text: string;
  /**
   * Parses the body as JSON.
   *
   * @throws If it is not JSON.
   */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the test says which shape it then looks at
  json: <T = Record<string, unknown>>() => T;
  setCookies: string[];
}

export interface ApiRequest {
  headers?: Record<string, string>;
  /** Objects are sent as JSON, URLSearchParams as a form, and anything else unchanged. */
  body?: unknown;
}

/** A client of the API: a browser with cookies, or a program with a key. */
export class ApiClient {
  readonly #url: string;
  readonly #check: ((response: SeenResponse) => void) | undefined;
  readonly #signIn: Promise<Record<string, string>>;
  /** Cookies by name, updated by every response like in a browser. */
  readonly cookies = new Map<string, string>();

  /**
   * `credentials` returns headers for every request; a Cookie header is added to the cookie jar instead.
   * `check` is called with every response, and throws if it is invalid.
   */
  constructor(
    url: string,
    credentials: Promise<Record<string, string>> = Promise.resolve({}),
    check?: (response: SeenResponse) => void,
  ) {
    this.#url = url;
    this.#check = check;
    this.#signIn = credentials.then(({ cookie, ...headers }) => {
      if (cookie !== undefined) this.#keep(cookie);
      return headers;
    });
    this.#signIn.catch(() => undefined); // Each request reports it.
  }

  get(path: string, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return this.request("GET", path, { headers });
  }

  post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return this.request("POST", path, { body, headers });
  }

  put(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return this.request("PUT", path, { body, headers });
  }

  patch(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return this.request("PATCH", path, { body, headers });
  }

  delete(path: string, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return this.request("DELETE", path, { headers });
  }

  async request(method: string, path: string, { headers = {}, body }: ApiRequest = {}): Promise<ApiResponse> {
    const credentials = await this.#signIn;
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const sent = encode(body);
    const response = await fetch(this.#url + path, {
      method,
      redirect: "manual",
      headers: { ...(cookie !== "" && { cookie }), ...sent.headers, ...credentials, ...headers },
      ...(sent.body !== undefined && { body: sent.body, duplex: "half" }),
    });
    const text = await wholeText(response);
    const setCookies = response.headers.getSetCookie();
    for (const line of setCookies) this.#keep(line.split(";", 1)[0] ?? "", /; Max-Age=0/i.test(line));
    this.#check?.({ method, path, status: response.status, headers: response.headers, text });
    return { status: response.status, headers: response.headers, text, setCookies, json: parseAs(text) };
  }

  #keep(pair: string, isGone = false): void {
    const at = pair.indexOf("=");
    if (isGone) this.cookies.delete(pair.slice(0, at));
    else this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
}

/** Event streams may never end, so only their head is read. */
async function wholeText(response: Response): Promise<string> {
  if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true) return response.text();
  await response.body?.cancel();
  return "";
}

function parseAs(text: string): ApiResponse["json"] {
  return () => JSON.parse(text) as never;
}

/** Expects an error response of the common format with this status and error code. */
export function expectErrorResponse(response: ApiResponse, status: number, error: string): void {
  expect(response.status, response.text).to.equal(status);
  expect(response.headers.get("content-type")).to.match(/^application\/json/);
  expect(response.json()).to.include({ error });
}

type Encoded = { body?: NonNullable<RequestInit["body"]>; headers: Record<string, string> };

function encode(body: unknown): Encoded {
  if (body === undefined) return { headers: {} };
  if (body instanceof URLSearchParams)
    return { body: body.toString(), headers: { "content-type": "application/x-www-form-urlencoded" } };
  if (typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream)
    return { body: body as NonNullable<RequestInit["body"]>, headers: {} };
  return { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
}
