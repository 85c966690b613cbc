import type { ConsoleMessage, Page, Request, Response } from "playwright-core";

/** Records the requests of a loading page, to find out why it shows nothing. */
export class PageLoading {
  readonly #page: Page;
  readonly #navigations: Response[] = [];
  readonly #pending = new Set<Request>();
  readonly #problems: string[] = [];

  constructor(page: Page) {
    this.#page = page;
    page
      .on("request", this.#onRequest)
      .on("response", this.#onResponse)
      .on("requestfinished", this.#onFinished)
      .on("requestfailed", this.#onFailed);
    page.on("console", this.#onConsole).on("pageerror", this.#onError);
  }

  /** Stops recording. */
  end(): void {
    const page = this.#page;
    page
      .off("request", this.#onRequest)
      .off("response", this.#onResponse)
      .off("requestfinished", this.#onFinished)
      .off("requestfailed", this.#onFailed);
    page.off("console", this.#onConsole).off("pageerror", this.#onError);
  }

  /**
   * Returns which API replicas served the page, including reloads, and which requests failed or are pending.
   */
  async describe(): Promise<string> {
    const answered = await Promise.all(this.#navigations.map(textOfPage));
    const pending = [...this.#pending].map((request) => `${request.method()} ${request.url()}`);
    return `it was answered: ${answered.join("; ")}; failed: ${this.#problems.join("; ")}; unanswered: ${pending.join("; ")}`;
  }

  readonly #onRequest = (request: Request): void => void this.#pending.add(request);
  readonly #onFinished = (request: Request): void => void this.#pending.delete(request);
  readonly #onResponse = (response: Response): void => {
    if (response.request().isNavigationRequest()) this.#navigations.push(response);
    if (response.status() >= 400)
      this.#problems.push(`${response.status()} ${response.request().method()} ${response.url()}`);
  };
  readonly #onFailed = (request: Request): void => {
    this.#pending.delete(request);
    this.#problems.push(`${request.failure()?.errorText} ${request.method()} ${request.url()}`);
  };
  readonly #onConsole = (message: ConsoleMessage): void => {
    if (message.type() === "error") this.#problems.push(message.text());
  };
  readonly #onError = (error: Error): void => void this.#problems.push(error.message);
}

async function textOfPage(page: Response): Promise<string> {
  const server = await page.serverAddr();
  return `${new Date(page.request().timing().startTime).toISOString()} ${server?.ipAddress}:${server?.port} ${page.status()} ${JSON.stringify(page.headers())}`;
}
