import type { SeenRequest } from "./faultyApi.ts";

/** Matches lists of the given plural. */
export function listOf(plural: string): (request: SeenRequest) => boolean {
  return ({ method, path, isWatch }) => method === "GET" && !isWatch && path.endsWith(`/${plural}`);
}

/**
 * Matches looks at one object only of the given plural, which tell a reflector how far the server's storage
 * has come.
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

/** What a server says that has yet to reach a version. */
export const tooLarge = {
  reason: "Timeout",
  message: "Timeout: Too large resource version: 900, current: 12",
};
