import type { SeenRequest } from "./faultyApi.ts";

/** Matches lists of the given plural. */
export function listOf(plural: string): (request: SeenRequest) => boolean {
  return ({ method, path, isWatch }) => method === "GET" && !isWatch && path.endsWith(`/${plural}`);
}

/**
 * Matches lists limited to one object of the given plural, with which a reflector finds out the latest
 * version of the server's storage.
 */
export function lookAtOneOf(plural: string): (request: SeenRequest) => boolean {
  const isListed = listOf(plural);
  return (request) => isListed(request) && request.query.get("limit") === "1";
}

/** Matches lists of all objects of the given plural. */
export function fullListOf(plural: string): (request: SeenRequest) => boolean {
  const [isListed, isLook] = [listOf(plural), lookAtOneOf(plural)];
  return (request) => isListed(request) && !isLook(request);
}

/** Matches watches of the given plural. */
export function watchOf(plural: string): (request: SeenRequest) => boolean {
  return ({ path, isWatch }) => isWatch && path.endsWith(`/${plural}`);
}

/** Response of a server that has not reached a version yet. */
export const tooLarge = {
  reason: "Timeout",
  message: "Timeout: Too large resource version: 900, current: 12",
};
