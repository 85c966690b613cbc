import { Redis as Client } from "ioredis";
import type { Logger } from "#runtime/logger.ts";

/** A connected client; commands fail in time instead of waiting for a server that is unavailable. */
export type Redis = Client;

/** After so many timeouts in a row the server hangs: without a connection commands fail at once. */
const timeoutsBeforeReconnect = 3;
const reconnectMs = { first: 50, most: 2_000 };

class TimeoutClient extends Client {
  #timeouts = 0;
  #isCorked = false;

  override sendCommand(...args: Parameters<Client["sendCommand"]>): unknown {
    const [command] = args;
    (command.promise as Promise<unknown>).then(() => {
      this.#timeouts = 0;
    }, (error: unknown) => {
      if (!(error instanceof Error) || error.message !== "Command timed out") return;
      this.#timeouts += 1;
      if (this.#timeouts < timeoutsBeforeReconnect) return;
      this.#timeouts = 0;
      this.disconnect(true);
    });
    this.#corkWrites();
    return super.sendCommand(...args);
  }

  /** Sends the commands of one turn of the event loop in one write: a write costs the system more than the commands themselves. */
  #corkWrites(): void {
    if (this.#isCorked || this.status !== "ready") return;
    const { stream } = this;
    this.#isCorked = true;
    stream.cork();
    setImmediate(() => {
      this.#isCorked = false;
      stream.uncork();
    });
  }
}

/** Opens the shared connection; it reconnects for ever and never queues commands meanwhile. */
export function connectRedis({ url, commandTimeoutMs }: { url: string; commandTimeoutMs: number }, logger: Logger): Redis {
  const client = new TimeoutClient(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 2_000,
    // A server that froze keeps its connection; a ping that goes unanswered for this long ends it.
    socketTimeout: 10_000,
    retryStrategy: (attempt) => Math.min(reconnectMs.first * 2 ** Math.min(attempt, 10), reconnectMs.most) * (0.75 + Math.random() / 2),
  });
  let isUnavailable = false;
  client.on("error", (error: Error) => {
    if (!isUnavailable) logger.warn({ err: error }, "Redis is unavailable; limits and lockout are counted in this process meanwhile.");
    isUnavailable = true;
  });
  client.on("ready", () => {
    if (isUnavailable) logger.info({}, "Redis is available again.");
    isUnavailable = false;
  });
  return client;
}
