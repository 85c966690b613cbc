import { isSavePicture } from "#archive/savePicture.ts";
import { GameVerification, VerificationPictureParams } from "#contracts/http/gameVerifications.ts";
import { GameVersionParams } from "#contracts/http/gameVersions.ts";
import { DomainError, notFound } from "../../errors.ts";
import { respondCacheable } from "../../http/respondCacheable.ts";
import { cacheable, json, media } from "../../http/responses.ts";
import type { Route } from "../../http/route.ts";
import { partnerRouteFor, type PartnerDeps, type PartnerPrincipal } from "../../partners/requirePartner.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import { lockVersion } from "../gameVersionQueries.ts";
import { findPartnerGame, lockPartnerGame, type PartnerGame } from "../partnerGameQueries.ts";
import { requireVerifying, type VerifyConfig } from "../siteVerify.ts";
import { noSuchGame } from "../updateGame.ts";
import { findVerification, requestVerification, type FoundVerification } from "../verificationQueries.ts";
import { readObservations } from "./observationsStore.ts";
import { presentVerification } from "./present.ts";

/** Dependencies of these routes. */
type VerificationDeps = PartnerDeps & { objectStore: ObjectStore; config: VerifyConfig };

const route = partnerRouteFor<VerificationDeps>();
const path = "/api/partners/games/:slug/versions/:gameVersionId/verification";
const limits = ["partner"] as const;

const show = route({
  method: "GET",
  path,
  name: "getVerification",
  summary: "Get the verification of a version",
  limits,
  params: GameVersionParams,
  description:
    "The platform plays a version once, without input, and reports what it saw: window, picture, sound, exit, save, and what the game was refused. " +
    "Players are never delayed: it waits for a free game server and gives way to players.",
  headers: ["If-None-Match"],
  responses: cacheable(GameVerification),
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug, gameVersionId } }) => {
    const found = await findExisting(deps, partner, slug, gameVersionId);
    respondCacheable(ctx, presentVerification(found));
  },
});

const start = route({
  method: "POST",
  path,
  name: "startVerification",
  summary: "Verify a version again",
  limits,
  params: GameVersionParams,
  description: "A no-op while it waits or runs. 409 if the site verifies no games.",
  responses: { 202: json(GameVerification) },
  errors: ["conflict"],
  handle: async ({ ctx, deps, partner, params: { slug, gameVersionId: versionId } }) => {
    await deps.postgres.transaction(async (transaction) => {
      const game = await lockPartnerGame(transaction, partner.id, slug);
      if (game === undefined) throw noSuchGame(slug);
      const version = await lockVersion(transaction, game.id, versionId);
      if (version === undefined) throw noSuchVersion();
      requireVerifying(deps.config);
      if (version.isRemoved)
        throw new DomainError("conflict", {
          message: "The archive of this version is no longer kept. Upload it again.",
        });
      await requestVerification(transaction, { gameId: game.id, versionId, isRequired: false }, true);
    });
    ctx.status = 202;
    ctx.body = presentVerification(await findExisting(deps, partner, slug, versionId));
  },
});

const picture = route({
  method: "GET",
  path: `${path}/pictures/:seconds`,
  name: "getVerificationPicture",
  summary: "Get a picture of a verification",
  limits,
  params: VerificationPictureParams,
  description:
    "A small picture of the display, that many seconds after the game's start. It is kept for a week.",
  responses: { 200: media(["image/jpeg"], "The picture.") },
  errors: ["unavailable"],
  handle: async ({ ctx, deps, partner, params: { slug, gameVersionId, seconds } }) => {
    const { sessionId } = await findExisting(deps, partner, slug, gameVersionId);
    const observed = sessionId === null ? undefined : await readObservations(deps.objectStore, sessionId);
    const jpeg = Buffer.from(
      observed?.pictures.find(({ atSeconds }) => String(atSeconds) === seconds)?.jpeg ?? "",
      "base64",
    );
    // It comes from a pod.
    if (!isSavePicture(jpeg)) throw notFound("There is no such picture.");
    ctx.set("Cache-Control", "private, no-store");
    ctx.status = 200;
    ctx.type = "image/jpeg";
    ctx.body = jpeg;
  },
});

/** Routes for the verifications of a partner's versions. */
export const verificationRoutes: readonly Route<VerificationDeps>[] = [show, start, picture];

async function findExisting(
  { postgres }: VerificationDeps,
  partner: PartnerPrincipal,
  slug: string,
  versionId: string,
): Promise<FoundVerification> {
  const game: PartnerGame | null = await findPartnerGame(postgres.prisma, partner.id, slug);
  if (game === null) throw noSuchGame(slug);
  const found = await findVerification(postgres.pool, game.id, versionId);
  if (found === undefined) throw notFound("The version has not been verified.");
  return found;
}

function noSuchVersion(): DomainError {
  return notFound("The game has no such version.");
}
