import {
  connectionFailureOf,
  connectionSentence,
  type ServerWords,
} from "#runtime/network/connectionFailure.ts";

const words: ServerWords = {
  server: "Redis",
  address: "REDIS_URL",
  authority: "REDIS_CA_FILE (the chart's redis.caSecret)",
};

/** A server closed the connection before it had answered anything. */
export class ClosedAtOnce extends Error {
  constructor(cause?: Error) {
    super("The server closed the connection before it answered.", { cause });
    this.name = "ClosedAtOnce";
  }
}

/**
 * Returns what is wrong with the way to Redis, in a sentence that says what to do and has no value in it;
 * undefined for what may pass by itself.
 */
export function redisSentence(error: unknown, url: string): string | undefined {
  const isTls = url.startsWith("rediss:");
  const failure = connectionFailureOf(error);
  if (failure !== undefined) return connectionSentence(failure, words);
  if (!(error instanceof Error)) return undefined;
  if (/^(?:WRONGPASS|ERR invalid password)/.test(error.message))
    return "Redis refuses the user or the password in REDIS_URL: correct them.";
  if (error.message.startsWith("NOAUTH"))
    return "Redis asks for a password, and REDIS_URL has none: write rediss://:PASSWORD@HOST:PORT.";
  if (error.message.startsWith("NOPERM"))
    return "Redis does not let the user in REDIS_URL do what is needed: let it use all commands on keys and channels.";
  if (!isTls && error instanceof ClosedAtOnce)
    return "Redis closes the connection at once: where it takes TLS alone, REDIS_URL must begin with rediss://.";
  if (isTls && error.message === "connect ETIMEDOUT")
    return "Redis does not answer with TLS: where it has none, turn it on there; otherwise open the way to its port.";
  return undefined;
}
