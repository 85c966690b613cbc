import {
  PartnerGameDetail,
  PartnerGameParams,
  PartnerGamesResponse,
  PatchGameRequest,
  RegisterGameRequest,
  RegisterGameResponse,
  SyncResponse,
} from "#contracts/http/partners.ts";
import { UploadQuery, UploadResponse } from "#contracts/http/gameVersions.ts";
import {
  deleteGame,
  type DeleteGameDeps,
  restoreGame,
  type RestoreGameDeps,
  requirePartnerGame,
  updateGame,
  type UpdateGameDeps,
} from "./updateGame.ts";
import { registerGame, type RegisterGameDeps } from "./registerGame.ts";
import { uploadArchive, type UploadDeps } from "./uploadArchive.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import { DomainError } from "../errors.ts";
import { presentPartnerGame, presentPartnerGames, presentRegisteredGame, presentUpload } from "./present.ts";
import { presentSync } from "./presentSync.ts";
import { gameEtag, gamePreconditionOf } from "./gameEtag.ts";
import type { AppContext } from "../http/appContext.ts";
import { partnerRouteFor, type PartnerDeps, type PartnerPrincipal } from "../partners/requirePartner.ts";
import { applyRateLimits, refundRateLimit } from "../http/applyRateLimits.ts";
import { createRemember } from "../http/idempotency.ts";
import { respondCacheable, respondTagged } from "../http/respondCacheable.ts";
import { cacheable, empty, json } from "../http/responses.ts";
import type { Route } from "../http/route.ts";
import { listPartnerGames, type PartnerGame } from "./partnerGameQueries.ts";
import { clientGoneSignal } from "../http/body.ts";
import {
  archiveBodyOf,
  archiveTooLarge,
  archiveTypes,
  countUpload,
  type OpenableBody,
} from "../archives/archiveBody.ts";
import { formatSha256Digest } from "../archives/contentDigest.ts";

/** Dependencies of these routes. */
type GamesDeps = PartnerDeps &
  RegisterGameDeps &
  UpdateGameDeps &
  DeleteGameDeps &
  RestoreGameDeps &
  UploadDeps & { cluster: ClusterView };

const route = partnerRouteFor<GamesDeps>();
const gamesPath = "/api/partners/games";
const gamePath = `${gamesPath}/:slug`;
const limits = ["partner"] as const;
const params = PartnerGameParams;

const list = route({
  method: "GET",
  path: gamesPath,
  name: "listPartnerGames",
  summary: "List the partner's games",
  limits,
  headers: ["If-None-Match"],
  responses: cacheable(PartnerGamesResponse),
  errors: [],
  handle: async ({ ctx, deps, partner }) => {
    respondCacheable(ctx, presentPartnerGames(await listPartnerGames(deps.postgres.prisma, partner.id)));
  },
});

const register = route({
  method: "POST",
  path: gamesPath,
  name: "registerGame",
  summary: "Register a game",
  limits,
  body: RegisterGameRequest,
  isIdempotent: true,
  responses: { 201: json(RegisterGameResponse, undefined, { optionalHeaders: ["Location"] }) },
  errors: ["conflict"],
  handle: async ({ ctx, deps, partner, body }) => {
    const remember = createRemember(ctx, 201);
    const locationOf = ({ slug }: { slug: string }): string => `${deps.config.baseUrl}${gamesPath}/${slug}`;
    const game = await registerGame(
      deps,
      partner,
      body,
      remember &&
        ((inserted, transaction) =>
          remember(presentRegisteredGame(inserted), transaction, locationOf(inserted))),
    );
    ctx.status = 201;
    ctx.set("Location", locationOf(game));
    ctx.body = presentRegisteredGame(game);
  },
});

const detail = route({
  method: "GET",
  path: gamePath,
  name: "getPartnerGame",
  summary: "Get a game",
  limits,
  params,
  headers: ["If-None-Match"],
  responses: cacheable(PartnerGameDetail),
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    respondWithGame(ctx, await requirePartnerGame(deps, partner, slug));
  },
});

const update = route({
  method: "PATCH",
  path: gamePath,
  name: "updateGame",
  summary: "Change a game",
  limits,
  params,
  body: PatchGameRequest,
  description:
    "`launcher` and `engineDir` of an active game must exist in its archive. `resources` is replaced as a whole.",
  headers: ["If-Match"],
  responses: { 200: json(PartnerGameDetail, undefined, { headers: ["ETag"] }) },
  errors: ["conflict", "precondition_failed", "invalid_archive"],
  handle: async ({ ctx, deps, partner, params: { slug }, body }) => {
    const game = await updateGame(deps, partner, slug, body, gamePreconditionOf(ctx));
    const detail = presentPartnerGame(game, deps);
    ctx.set("ETag", gameEtag(game, detail));
    ctx.body = detail;
  },
});

const upload = route({
  method: "PUT",
  path: `${gamePath}/upload`,
  name: "uploadArchive",
  summary: "Upload a game's archive",
  limits,
  params,
  query: UploadQuery,
  description:
    "The archive becomes the current version immediately, unless `autoActivate` is false. Running sessions keep theirs. " +
    "An archive is sent as a whole. To continue after an interruption, upload in chunks. " +
    "Each replica receives four archives of a partner at a time; further uploads wait up to some seconds. " +
    "A failed upload changes nothing but counts against the rate limit, unless it is refused with `Retry-After` before it begins, " +
    "or with `invalid_archive` and this happened less than three times as often as uploads are allowed.",
  innerLimits: ["upload"],
  headers: ["Content-Digest", "Repr-Digest", "If-Match"],
  rawBody: {
    types: archiveTypes,
    description: "The tar.gz archive.",
    maxBytes: ({ partner }) => partner.uploadMaxBytes,
  },
  announce: ({ config }) => ({ "Upload-Limit": `max-size=${config.partner.uploadMaxBytes}` }),
  responses: { 200: json(UploadResponse, undefined, { headers: ["Repr-Digest"] }) },
  errors: [
    "invalid_request",
    "checksum_mismatch",
    "request_timeout",
    "conflict",
    "upload_in_progress",
    "precondition_failed",
    "payload_too_large",
    "unsupported_media_type",
    "invalid_archive",
  ],
  handle: async ({ ctx, deps, partner, params: { slug }, query }) => {
    const game = await requirePartnerGame(deps, partner, slug);
    await applyRateLimits(ctx, ["upload"], partner.id);
    const { uploadMaxBytes } = deps.config.partner;
    const body = archiveBodyOf(ctx, uploadMaxBytes);
    const archive = await countUpload(
      deps.metrics,
      "game",
      () =>
        uploadArchive(deps, partner, game, body, {
          wish: query,
          precondition: gamePreconditionOf(ctx),
          signal: clientGoneSignal(ctx),
        }),
      ({ sizeBytes }) => sizeBytes,
    ).catch(async (error: unknown) => {
      if (error instanceof DomainError && (await isUncounted(error, body, deps, partner)))
        await refundRateLimit(ctx, "upload");
      throw error instanceof DomainError && error.code === "payload_too_large"
        ? archiveTooLarge(uploadMaxBytes)
        : error;
    });
    ctx.set("Repr-Digest", formatSha256Digest(archive.sha256));
    ctx.body = presentUpload(slug, archive);
  },
});

const sync = route({
  method: "GET",
  path: `${gamePath}/sync`,
  name: "getSync",
  summary: "Get the distribution of a game's archive",
  limits,
  params,
  headers: ["If-None-Match"],
  responses: cacheable(SyncResponse),
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    respondCacheable(ctx, presentSync(await requirePartnerGame(deps, partner, slug), deps.cluster));
  },
});

const remove = route({
  method: "DELETE",
  path: gamePath,
  name: "deleteGame",
  summary: "Delete a game",
  limits,
  params,
  description:
    "Running sessions continue, but no new one can start. The game can be restored for 90 days; its slug stays reserved for that time.",
  headers: ["If-Match"],
  responses: { 204: empty("The game is deleted.") },
  errors: ["precondition_failed"],
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    await deleteGame(deps, partner, slug, gamePreconditionOf(ctx));
    ctx.status = 204;
  },
});

const restore = route({
  method: "POST",
  path: `${gamePath}/restore`,
  name: "restoreGame",
  summary: "Restore a deleted game",
  limits,
  params,
  description:
    "Possible for 90 days, with its archive, favourites and saves. A no-op when the game is not deleted.",
  responses: { 200: json(PartnerGameDetail, undefined, { headers: ["ETag"] }) },
  errors: ["conflict"],
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    const game = await restoreGame(deps, partner, slug);
    const detail = presentPartnerGame(game, deps);
    ctx.set("ETag", gameEtag(game, detail));
    ctx.body = detail;
  },
});

/** Routes for a partner's games, their archives and the distribution of these. */
export const partnerRoutes: readonly Route<GamesDeps>[] = [
  list,
  register,
  detail,
  update,
  upload,
  sync,
  remove,
  restore,
];

/** Returns whether a failed upload does not count against the partner's uploads. */
async function isUncounted(
  error: DomainError,
  body: Pick<OpenableBody, "isOpen">,
  { rateLimits }: GamesDeps,
  partner: PartnerPrincipal,
): Promise<boolean> {
  // Nothing was read. A client that follows Retry-After must not run out of uploads.
  if (!body.isOpen) return error.retryAfterSeconds !== undefined;
  // A partner finds out by trying how to pack a game. The work is still bounded.
  return (
    error.code === "invalid_archive" && (await rateLimits.consume("refusedUpload", partner.id)).isAllowed
  );
}

/** Responds with the detail under the game's own tag, which a client can send back in `If-Match`. */
function respondWithGame(
  ctx: AppContext<{ cluster: ClusterView; config: { baseUrl: string } }>,
  game: PartnerGame,
): void {
  const detail = presentPartnerGame(game, ctx.deps);
  respondTagged(ctx, gameEtag(game, detail), JSON.stringify(detail));
}
