import { randomInt } from "node:crypto";

/**
 * An address of this machine's alone that no other test has, to listen at a port which may not be chosen, as
 * a pod does; there are 8 million. Nothing listens there yet.
 */
export function loopbackIp(): string {
  return `127.${randomInt(128, 256)}.${randomInt(256)}.${randomInt(1, 255)}`;
}
