import { Redis as Client } from "ioredis";
import type { Logger } from "#runtime/logger.ts";

/** A connected client; commands fail in time instead of waiting for a server that is unavailable. */
export type Redis = Client;

/** So many unanswered commands in a row mean a server that hangs: without a connection commands fail at once instead. */
const timeoutsBeforeReconnect = 3;
const reconnectMs = { first: 50, most: 2_000 };

class ImpatientClient extends Client {
  #timeouts = 0;
  #isHolding = false;

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
    this.#holdWrites();
    return super.sendCommand(...args);
  }

  /** All that one turn of the event loop asks leaves in one write: a write costs the system more than what led to it. */
  #holdWrites(): void {
    if (this.#isHolding || this.status !== "ready") return;
    const { stream } = this;
    this.#isHolding = true;
    stream.cork();
    setImmediate(() => {
      this.#isHolding = false;
      stream.uncork();
    });
  }
}

/** Opens the shared connection; it reconnects for ever, and never queues commands meanwhile. */
export function connectRedis({ url, commandTimeoutMs }: { url: string; commandTimeoutMs: number }, logger: Logger): Redis {
  const client = new ImpatientClient(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 2_000,
    // A server that froze keeps its connection; a ping that goes unanswered for this long ends it.
    socketTimeout: 10_000,
    retryStrategy: (attempt) => Math.min(reconnectMs.first * 2 ** Math.min(attempt, 10), reconnectMs.most) * (0.75 + Math.random() / 2),
  });
  let isAway = false;
  client.on("error", (error: Error) => {
    if (!isAway) logger.warn({ err: error }, "redis is away; limits and lockout count in this process meanwhile");
    isAway = true;
  });
  client.on("ready", () => {
    if (isAway) logger.info({}, "redis is back");
    isAway = false;
  });
  return client;
}
