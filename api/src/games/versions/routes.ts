import {
  GameVersion,
  GameVersionParams,
  GameVersionsResponse,
  PatchVersionRequest,
} from "#contracts/http/gameVersions.ts";
import { PartnerGameParams } from "#contracts/http/partners.ts";
import type { ClusterView } from "../../cluster/clusterView.ts";
import { respondCacheable } from "../../http/respondCacheable.ts";
import { cacheable, json } from "../../http/responses.ts";
import type { Route } from "../../http/route.ts";
import { partnerRouteFor, type PartnerDeps } from "../../partners/requirePartner.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { gamePreconditionOf } from "../gameEtag.ts";
import { updateVersionTexts } from "../gameVersionQueries.ts";
import { requirePartnerGame } from "../updateGame.ts";
import { activateVersion, noSuchVersion, type ActivateVersionDeps } from "./activateVersion.ts";
import { presentVersion, presentVersions } from "./present.ts";
import { findVersion, listVersions, type ListedVersion } from "./versionQueries.ts";

/** Dependencies of these routes. */
type VersionsDeps = PartnerDeps &
  ActivateVersionDeps & {
    cluster: ClusterView;
    config: { baseUrl: string; partner: { versionsKept: number } };
  };

const route = partnerRouteFor<VersionsDeps>();
const versionsPath = "/api/partners/games/:slug/versions";
const versionPath = `${versionsPath}/:gameVersionId`;
const limits = ["partner"] as const;

const list = route({
  method: "GET",
  path: versionsPath,
  name: "listGameVersions",
  summary: "List a game's versions",
  limits,
  params: PartnerGameParams,
  description:
    "Every upload is a version. The newest archives are kept, and those that are current or being played.",
  headers: ["If-None-Match"],
  responses: cacheable(GameVersionsResponse),
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    const { id } = await requirePartnerGame(deps, partner, slug);
    const versions = await listVersions(deps.postgres.pool, id);
    respondCacheable(ctx, presentVersions(versions, deps.config.partner.versionsKept, deps.cluster));
  },
});

const activate = route({
  method: "POST",
  path: `${versionPath}/activate`,
  name: "activateGameVersion",
  summary: "Make a version current",
  limits,
  params: GameVersionParams,
  description:
    "Goes forward to a version that waits, or back to an earlier one whose archive is kept. Running sessions keep theirs. " +
    "Game servers that still hold the version download nothing. A no-op for the current version.",
  headers: ["If-Match"],
  responses: { 200: json(GameVersion) },
  errors: ["conflict", "precondition_failed"],
  handle: async ({ ctx, deps, partner, params: { slug, gameVersionId: versionId } }) => {
    const gameId = await activateVersion(deps, partner, { slug, versionId }, gamePreconditionOf(ctx));
    ctx.body = presentVersion(await findVersionOf(deps, gameId, versionId), deps.cluster);
  },
});

const update = route({
  method: "PATCH",
  path: versionPath,
  name: "updateGameVersion",
  summary: "Change the label and notes of a version",
  limits,
  params: GameVersionParams,
  body: PatchVersionRequest,
  responses: { 200: json(GameVersion) },
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug, gameVersionId }, body }) => {
    const { id } = await requirePartnerGame(deps, partner, slug);
    const before = await findVersionOf(deps, id, gameVersionId);
    await updateVersionTexts(deps.postgres.pool, before.id, body);
    ctx.body = presentVersion(await findVersionOf(deps, id, gameVersionId), deps.cluster);
  },
});

/** Routes for the versions of a partner's games. */
export const versionRoutes: readonly Route<VersionsDeps>[] = [list, activate, update];

async function findVersionOf(
  { postgres }: { postgres: Postgres },
  gameId: string,
  versionId: string,
): Promise<ListedVersion> {
  const version = await findVersion(postgres.pool, gameId, versionId);
  if (version === undefined) throw noSuchVersion();
  return version;
}
