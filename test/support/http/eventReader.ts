import { expect } from "chai";
import type { GameSessionEventName } from "#contracts/http/gameSessions.ts";
import type { ApiClient } from "./apiClient.ts";
import { eventually } from "../clocks/eventually.ts";
import { checkAgainstDocument } from "../openapi/documentCheck.ts";

/** A server-sent event with parsed data. */
export interface SeenEvent {
  id: string;
  name: string;
  data: Record<string, unknown>;
}

/** Reads a session's event stream like a browser, but does not reconnect. */
export class EventReader {
  readonly events: SeenEvent[] = [];
  readonly response: Response;
  /** Number of heartbeats. */
  comments = 0;
  hasEnded = false;
  readonly #abort: AbortController;
  #text = "";

  private constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    void this.#read();
  }

  /** Opens the stream as `client`. An error response is in `response`. */
  static async open(
    url: string,
    client: ApiClient,
    sessionId: string,
    headers: Record<string, string> = {},
  ): Promise<EventReader> {
    await client.get("/api/auth/session"); // Fills the cookie jar.
    const abort = new AbortController();
    const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(`${url}/api/game/events?sessionId=${sessionId}`, {
      headers: { accept: "text/event-stream", "accept-encoding": "gzip", cookie, ...headers },
      signal: abort.signal,
    });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const text = isStream ? "" : await response.clone().text();
    checkAgainstDocument({
      method: "GET",
      path: `/api/game/events?sessionId=${sessionId}`,
      status: response.status,
      headers: response.headers,
      text,
    });
    return new EventReader(response, abort);
  }

  get names(): string[] {
    return this.events.map(({ name }) => name);
  }

  get lastId(): string {
    return this.events.at(-1)?.id ?? "";
  }

  /** Waits for the first event of this name whose data contains `data`. */
  async see(name: GameSessionEventName, data: Record<string, unknown> = {}): Promise<SeenEvent> {
    return eventually(
      () => {
        const found = this.events.find(
          (event) =>
            event.name === name && Object.entries(data).every(([key, value]) => event.data[key] === value),
        );
        expect(found, JSON.stringify(this.events)).to.not.equal(undefined);
        return found;
      },
      { timeoutMs: 15_000 },
    );
  }

  async seeEnd(): Promise<void> {
    await eventually(() => this.hasEnded, { timeoutMs: 15_000, what: "the end of the stream" });
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(): Promise<void> {
    try {
      for await (const chunk of this.response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const blocks = (this.#text + chunk).split("\n\n");
        this.#text = blocks.pop() ?? "";
        for (const block of blocks) this.#take(block);
      }
    } catch {
      // Closed by us or interrupted; both end the stream.
    }
    this.hasEnded = true;
  }

  #take(block: string): void {
    if (block.startsWith(":")) this.comments++;
    const fields = new Map(
      block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
    );
    const data = fields.get("data");
    if (data === undefined) return;
    this.events.push({
      id: fields.get("id") ?? "",
      name: fields.get("event") ?? "",
      data: JSON.parse(data) as Record<string, unknown>,
    });
  }
}
