import {
  PartnerGameParams,
  PictureParams,
  PictureResponse,
  pictureTypes,
  type PictureType,
} from "#contracts/http/partners.ts";
import { limits as allLimits } from "#contracts/limits.ts";
import { pictureKey } from "#contracts/objectKeys.ts";
import { notFound } from "../../errors.ts";
import { applyRateLimits } from "../../http/applyRateLimits.ts";
import { readBinary } from "../../http/body.ts";
import { respondUnchanged } from "../../http/respondCacheable.ts";
import { empty, json, media } from "../../http/responses.ts";
import { publicRouteFor, type Route } from "../../http/route.ts";
import { partnerRouteFor, type PartnerDeps } from "../../partners/requirePartner.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { gamePreconditionOf } from "../gameEtag.ts";
import { requirePartnerGame } from "../updateGame.ts";
import { pictureAddress } from "../present.ts";
import { PictureObjectStore, removePicture, storePicture, type StorePictureDeps } from "./storePicture.ts";
import { findPicture } from "./pictureQueries.ts";

/** Dependencies of these routes. */
type PictureDeps = PartnerDeps & StorePictureDeps;

const partnerRoute = partnerRouteFor<PictureDeps>();
const publicRoute = publicRouteFor<{ postgres: Postgres; objectStore: ObjectStore }>();
const path = "/api/partners/games/:slug/picture";
const params = PartnerGameParams;
const { bytes: maxBytes, sideMin, sideMax } = allLimits.picture;

const upload = partnerRoute({
  method: "PUT",
  path,
  name: "uploadPicture",
  summary: "Upload a game's picture",
  limits: ["partner"],
  innerLimits: ["pictureUpload"],
  params,
  description: `Players see it in the catalogue, in place of the address in \`thumbnail\`. 16:9 fits best; each side has ${sideMin} to ${sideMax} pixels. A refused picture changes nothing.`,
  headers: ["If-Match"],
  rawBody: { types: pictureTypes, description: "The picture.", maxBytes },
  responses: { 200: json(PictureResponse) },
  errors: [
    "invalid_request",
    "request_timeout",
    "precondition_failed",
    "payload_too_large",
    "unsupported_media_type",
    "invalid_picture",
  ],
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    const game = await requirePartnerGame(deps, partner, slug);
    await applyRateLimits(ctx, ["pictureUpload"], partner.id);
    const sent = await readBinary<PictureType>(ctx, pictureTypes, maxBytes);
    const { id, type, width, height, sizeBytes } = await storePicture(
      deps,
      partner,
      game,
      sent,
      gamePreconditionOf(ctx),
    );
    ctx.body = {
      slug,
      picture: pictureAddress(deps.config, id),
      type,
      width,
      height,
      size: sizeBytes,
    } satisfies PictureResponse;
  },
});

const remove = partnerRoute({
  method: "DELETE",
  path,
  name: "deletePicture",
  summary: "Remove a game's picture",
  limits: ["partner"],
  params,
  description: "Players then see the picture at `thumbnail`, if there is one.",
  headers: ["If-Match"],
  responses: { 204: empty("The game has no uploaded picture.") },
  errors: ["precondition_failed"],
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    await removePicture(
      deps,
      partner,
      await requirePartnerGame(deps, partner, slug),
      gamePreconditionOf(ctx),
    );
    ctx.status = 204;
  },
});

const show = publicRoute({
  method: "GET",
  path: "/api/pictures/:pictureId",
  name: "getPicture",
  summary: "Get a game's picture",
  limits: ["picture"],
  params: PictureParams,
  description:
    "The content of an address never changes, so it can be cached forever. Addresses cannot be guessed.",
  headers: ["If-None-Match"],
  responses: {
    200: media(pictureTypes, "The picture, as it was uploaded.", { headers: ["ETag"] }),
    304: empty("Unchanged since the version in `If-None-Match`.", { headers: ["ETag"] }),
  },
  errors: ["not_found", "unavailable"],
  handle: async ({ ctx, deps, params: { pictureId } }) => {
    const picture = await findPicture(deps.postgres.pool, pictureId);
    if (picture === undefined) throw notFound("There is no such picture.");
    const { gameId, id, type, sizeBytes, sha256 } = picture;
    const isKnown = respondUnchanged(ctx, `W/"${sha256.slice(0, 32)}"`);
    const bytes = isKnown
      ? undefined
      : await new PictureObjectStore(deps.objectStore)
          .read(pictureKey(gameId, id), sizeBytes)
          .catch((error: unknown) => {
            ctx.remove("ETag");
            throw error;
          });
    ctx.set({
      "Cache-Control": "public, max-age=31536000, immutable",
      "Cross-Origin-Resource-Policy": "cross-origin",
    });
    if (bytes === undefined) return;
    ctx.status = 200;
    ctx.type = type;
    ctx.body = bytes;
  },
});

/** Routes for game pictures: partners upload them, and anybody who knows the address can read them. */
export const pictureRoutes: readonly Route<PictureDeps>[] = [upload, remove, show];
