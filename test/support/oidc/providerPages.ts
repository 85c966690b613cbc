import { ApiClient, type ApiResponse } from "../http/apiClient.ts";

/** A player on the provider's pages, in a browser with separate cookies. */
export class ProviderVisitor {
  readonly #browser: ApiClient;
  readonly #origin: string;

  constructor(issuer: string) {
    this.#origin = new URL(issuer).origin;
    this.#browser = new ApiClient(this.#origin);
  }

  /**
   * Follows the provider's address: signs in as `login` and consents or declines. Returns the address of the
   * final redirect.
   */
  async pass(
    authorizationUrl: string,
    { login, declines = false }: { login: string; declines?: boolean },
  ): Promise<string> {
    let response = await this.#get(authorizationUrl);
    for (let hop = 0; hop < 15; hop += 1) {
      const location = response.headers.get("location");
      if (location !== null) {
        const url = new URL(location, this.#origin);
        if (url.origin !== this.#origin) return url.href;
        response = await this.#get(url.href);
        continue;
      }
      response = declines
        ? await this.#get(attribute(response, /href="([^"]*\/abort)"/))
        : await this.#submit(response, login);
    }
    throw new Error(
      `The provider leads nowhere; it last answered ${response.status}: ${response.text.slice(0, 300)}`,
    );
  }

  #submit(response: ApiResponse, login: string): Promise<ApiResponse> {
    const action = new URL(attribute(response, /<form[^>]*action="([^"]*)"/), this.#origin);
    const prompt = attribute(response, /name="prompt" value="(\w+)"/);
    const fields = prompt === "login" ? { prompt, login, password: "any" } : { prompt };
    return this.#browser.post(action.pathname + action.search, new URLSearchParams(fields));
  }

  #get(address: string): Promise<ApiResponse> {
    const url = new URL(address, this.#origin);
    return this.#browser.get(url.pathname + url.search, { accept: "text/html" });
  }
}

function attribute({ status, text }: ApiResponse, pattern: RegExp): string {
  const [, value] = pattern.exec(text) ?? [];
  if (value === undefined)
    throw new Error(`The provider's page (${status}) has no ${String(pattern)}: ${text.slice(0, 300)}`);
  return value.replaceAll("&amp;", "&");
}
