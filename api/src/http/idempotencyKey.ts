import { limits } from "#contracts/limits.ts";
import { invalidRequest } from "../errors.ts";

const token = /^[A-Za-z0-9!#$%&'*+.^_`|~:/-]+$/;
const quoted = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/**
 * The client's word in an `Idempotency-Key` header: a quoted string, or a bare token. Throws 400 for anything
 * else.
 */
export function parseIdempotencyKey(header: string): string {
  const text = header.trim();
  const key = token.test(text) ? text : quoted.exec(text)?.[1]?.replace(/\\(.)/g, "$1");
  if (key === undefined || key === "" || key.length > limits.idempotency.keyMaxLength) {
    throw invalidRequest(
      `Idempotency-Key must be one quoted string or token of 1 to ${limits.idempotency.keyMaxLength} characters, such as a random UUID.`,
      [{ path: "Idempotency-Key", message: "is malformed" }],
    );
  }
  return key;
}
