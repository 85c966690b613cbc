import { createHash } from "node:crypto";
import type { Redis } from "../stores/redis.ts";

/** A Lua script, called by its digest; its text goes only to a server that does not know it yet. */
export class RedisScript {
  readonly #lua: string;
  readonly #digest: string;

  constructor(lua: string) {
    this.#lua = lua;
    this.#digest = createHash("sha1").update(lua).digest("hex");
  }

  async run(redis: Redis, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    try {
      return await redis.evalsha(this.#digest, keys.length, ...keys, ...values);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
      return redis.eval(this.#lua, keys.length, ...keys, ...values);
    }
  }
}
