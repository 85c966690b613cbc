import { aUser } from "#test/factories/catalog.ts";
import type { TestApi } from "../http/api.ts";
import type { ApiClient, ApiResponse } from "../http/apiClient.ts";
import { anArchive, archivedGame } from "../fixtures/archives.ts";
import { postSignIn, postSignOut } from "../http/authForms.ts";
import { wholeInterface } from "./interfaceDocument.ts";
import { ownedThings } from "./interfaceFixture.ts";
import { sampleRequest } from "./sampleRequest.ts";

/** A named request that is ready to be sent. */
export interface NamedRequest {
  name: string;
  send: () => Promise<ApiResponse>;
}

/** Responses by request name. */
export type NamedResponses = ReadonlyMap<string, ApiResponse>;

/**
 * Returns the simplest request of each route from an authorized client with its own objects, and additional
 * requests that these do not cover.
 */
export async function everyRequest(api: TestApi): Promise<NamedRequest[]> {
  const { prisma } = api.deps.postgres;
  const { user, partner: owner, game, known } = await ownedThings(api);
  await prisma.game.update({ where: { id: game.id }, data: archivedGame });
  await prisma.gameVersion.update({
    where: { id: game.versionId ?? "" },
    data: { rootFiles: [archivedGame.launcher], rootDirectories: [archivedGame.engineDir] },
  });
  const [idle, archive] = await Promise.all([aUser(api.deps), anArchive()]);
  const player = api.as(user);
  const clients = { public: api.anonymous(), user: player, viewer: player, partner: api.asPartner(owner) };
  const [newcomer, leaving] = [api.as(idle), api.as(idle)];
  for (const client of [clients.user, newcomer, leaving]) await client.get("/healthz"); // Signs them in.
  // A process that does not know a key counts its first uses, and there are more routes than it allows.
  await clients.partner.get("/api/partners/games");
  const once = (client: ApiClient, path: string, body: object): Promise<ApiResponse> =>
    client.post(path, body, { "idempotency-key": "once" });
  const routes = wholeInterface().routes.map((route): NamedRequest => {
    const { method, path, body, headers } = sampleRequest(route, {
      ...known,
      ...archivedGame,
      title: `New ${game.slug}`,
    });
    const sent =
      route.name === "uploadArchive"
        ? { body: archive, headers: { "content-type": "application/gzip" } }
        : { body, headers };
    return { name: route.name, send: () => clients[route.access].request(method, path, sent) };
  });
  return [
    { name: "a favourite with a key", send: () => once(clients.user, "/api/favorites", { gameId: game.id }) },
    { name: "a launch with a key", send: () => once(newcomer, "/api/game/launch", { gameSlug: game.slug }) },
    {
      name: "a changed game",
      send: () => clients.partner.patch(`/api/partners/games/${game.slug}`, { description: "New." }),
    },
    { name: "a sign-in", send: () => postSignIn(api.anonymous(), user) },
    { name: "a wrong sign-in", send: () => postSignIn(api.anonymous(), { ...user, password: "wrong" }) },
    { name: "a sign-out", send: () => postSignOut(leaving) },
    {
      name: "readiness without the object store",
      send: () => clients.public.get("/readyz?exclude=objectStore"),
    },
    ...routes,
  ];
}

/** Sends the requests one after another. */
export async function sendInOrder(requests: readonly NamedRequest[]): Promise<NamedResponses> {
  const responses = new Map<string, ApiResponse>();
  for (const { name, send } of requests) responses.set(name, await send());
  return responses;
}

/** Sends the requests concurrently. */
export async function sendAtOnce(requests: readonly NamedRequest[]): Promise<NamedResponses> {
  return new Map(
    await Promise.all(
      requests.map(async ({ name, send }): Promise<[string, ApiResponse]> => [name, await send()]),
    ),
  );
}
