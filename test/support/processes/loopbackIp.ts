import { randomInt } from "node:crypto";

/**
 * Returns an unused loopback address (of 8 million), for servers with a fixed port such as those in pods.
 * Nothing listens on it yet.
 */
export function loopbackIp(): string {
  return `127.${randomInt(128, 256)}.${randomInt(256)}.${randomInt(1, 255)}`;
}
