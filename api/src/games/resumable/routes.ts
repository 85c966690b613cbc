import { ResumableUpload, ResumableUploadParams, tus } from "#contracts/http/resumableUploads.ts";
import { PartnerGameParams } from "#contracts/http/partners.ts";
import { archiveTooLarge } from "../../archives/archiveBody.ts";
import { invalidRequest } from "../../errors.ts";
import { applyRateLimits, refundRateLimit } from "../../http/applyRateLimits.ts";
import { clientGoneSignal, continueBody } from "../../http/body.ts";
import { empty, json } from "../../http/responses.ts";
import type { BodySizeConfig, Route } from "../../http/route.ts";
import { partnerRouteFor, type PartnerDeps } from "../../partners/requirePartner.ts";
import type { Postgres } from "../../stores/postgres.ts";
import type { PartnerGame } from "../partnerGameQueries.ts";
import { requirePartnerGame } from "../updateGame.ts";
import type { CheckUploadDeps } from "./checkUpload.ts";
import { createUpload, uploadPath } from "./createUpload.ts";
import { endUpload, noSuchUpload } from "./endUpload.ts";
import { presentResumableUpload } from "./present.ts";
import { receiveChunk, tooLong, type ReceiveChunkDeps } from "./receiveChunk.ts";
import { findResumableUpload, type ResumableUploadRow } from "./resumableQueries.ts";
import {
  bytesOf,
  chunkCheckOf,
  parseUploadMetadata,
  requireChunkType,
  requireTusVersion,
} from "./tusRequest.ts";
import type { UploadChecks } from "./uploadChecks.ts";

/** Dependencies of these routes. */
type ResumableDeps = PartnerDeps &
  CheckUploadDeps &
  ReceiveChunkDeps & { config: { partner: { uploadMaxBytes: number } }; uploadChecks: UploadChecks };

const route = partnerRouteFor<ResumableDeps>();
const uploadsPath = "/api/partners/games/:slug/uploads";
const path = `${uploadsPath}/:uploadId`;
const limits = ["partner"] as const;
const params = ResumableUploadParams;
const everyHeaders = { "Tus-Resumable": tus.version } as const;

const announce = ({ config }: { config: BodySizeConfig }): Record<string, string> => ({
  "Tus-Resumable": tus.version,
  "Tus-Version": tus.version,
  "Tus-Extension": tus.extensions,
  "Tus-Checksum-Algorithm": tus.checksumAlgorithms.join(","),
  "Tus-Max-Size": String(config.partner.uploadMaxBytes),
});

const create = route({
  method: "POST",
  path: uploadsPath,
  name: "createResumableUpload",
  summary: "Begin an upload in chunks",
  limits,
  params: PartnerGameParams,
  description:
    "Uploads in chunks follow tus 1.0 and continue after an interruption, at any replica. " +
    "The creation counts as one upload; the same limits, checks and errors apply as to an upload in one piece. " +
    "A partner has at most eight unfinished uploads, and each is removed after 24 hours.",
  innerLimits: ["upload"],
  headers: ["Tus-Resumable", "Upload-Metadata"],
  requiredHeaders: ["Upload-Length"],
  everyHeaders,
  announce,
  responses: {
    201: empty("The upload waits for its first chunk.", { headers: ["Location", "Upload-Expires"] }),
  },
  errors: ["invalid_request", "precondition_failed", "payload_too_large", "upload_in_progress"],
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    requireTusVersion(ctx);
    const length = bytesOf(ctx, "Upload-Length");
    if (length === 0) throw invalidRequest("The header Upload-Length must not be 0.");
    if (length > deps.config.partner.uploadMaxBytes)
      throw archiveTooLarge(deps.config.partner.uploadMaxBytes);
    const metadata = ctx.get("Upload-Metadata");
    parseUploadMetadata(metadata);
    const { id: gameId } = await requirePartnerGame(deps, partner, slug);
    await applyRateLimits(ctx, ["upload"], partner.id);
    const created = await createUpload(deps, partner, { gameId, length, metadata }).catch(
      async (error: unknown) => {
        await refundRateLimit(ctx, "upload"); // Nothing was received.
        throw error;
      },
    );
    ctx.status = 201;
    ctx.body = ""; // Otherwise Koa writes the status.
    ctx.remove("Content-Type");
    ctx.set("Location", uploadPath(slug, created.id));
    ctx.set("Upload-Expires", created.expiresAt.toUTCString());
  },
});

const show = route({
  method: "GET",
  path,
  name: "getResumableUpload",
  summary: "Get the state of an upload in chunks",
  limits,
  params,
  description:
    "`HEAD` returns the offset at which the next chunk starts. After the last chunk, poll until `state` is `done` or `refused`.",
  headers: ["Tus-Resumable"],
  everyHeaders,
  responses: {
    200: json(ResumableUpload, undefined, {
      headers: ["Upload-Offset", "Upload-Length", "Upload-Expires"],
      optionalHeaders: ["Upload-Metadata"],
    }),
  },
  errors: ["precondition_failed"],
  handle: async ({ ctx, deps, partner, params: { slug, uploadId } }) => {
    requireTusVersion(ctx);
    const upload = await findUpload(deps, await requirePartnerGame(deps, partner, slug), uploadId);
    ctx.set("Upload-Offset", String(upload.received));
    ctx.set("Upload-Length", String(upload.length));
    ctx.set("Upload-Expires", upload.expiresAt.toUTCString());
    if (upload.metadata !== "") ctx.set("Upload-Metadata", upload.metadata);
    ctx.body = presentResumableUpload(upload);
  },
});

const append = route({
  method: "PATCH",
  path,
  name: "appendChunk",
  summary: "Send a chunk of an upload",
  limits: ["uploadChunk"],
  params,
  description:
    "Chunks have any size. After a chunk that was cut off, ask for the offset with `HEAD`: what arrived is kept, unless `Upload-Checksum` was given. " +
    "A request takes the upload from an earlier one, which gets 409. " +
    "After the last chunk, the archive is inspected: `GET` returns the outcome.",
  headers: ["Tus-Resumable", "Upload-Checksum"],
  requiredHeaders: ["Upload-Offset"],
  everyHeaders,
  announce,
  rawBody: {
    types: [tus.chunkType],
    description: "The bytes of the archive from `Upload-Offset` on.",
    maxBytes: ({ partner }) => partner.uploadMaxBytes,
  },
  responses: { 204: empty("The chunk is stored.", { headers: ["Upload-Offset", "Upload-Expires"] }) },
  errors: [
    "invalid_request",
    "precondition_failed",
    "conflict",
    "upload_in_progress",
    "chunk_mismatch",
    "payload_too_large",
    "unsupported_media_type",
    "request_timeout",
  ],
  handle: async ({ ctx, deps, partner, params: { slug, uploadId } }) => {
    requireTusVersion(ctx);
    requireChunkType(ctx);
    const offset = bytesOf(ctx, "Upload-Offset");
    const check = chunkCheckOf(ctx);
    const game = await requirePartnerGame(deps, partner, slug);
    const { length, received: stored } = await findUpload(deps, game, uploadId);
    const bytes = Number(ctx.req.headers["content-length"] ?? 0);
    // Another offset is a conflict, however long the chunk is.
    if (offset === stored && offset + bytes > length) throw tooLong(length);
    const { received, isComplete, expiresAt } = await receiveChunk(deps, partner, {
      gameId: game.id,
      uploadId,
      offset,
      open: () => {
        continueBody(ctx);
        return ctx.req;
      },
      check,
      signal: clientGoneSignal(ctx),
    });
    if (isComplete) deps.uploadChecks.start(deps, uploadId);
    ctx.status = 204;
    ctx.set("Upload-Offset", String(received));
    ctx.set("Upload-Expires", expiresAt.toUTCString());
  },
});

const remove = route({
  method: "DELETE",
  path,
  name: "deleteResumableUpload",
  summary: "End an upload in chunks",
  limits,
  params,
  description: "Removes what has arrived. A version that the upload has become stays.",
  headers: ["Tus-Resumable"],
  everyHeaders,
  responses: { 204: empty("The upload is ended.") },
  errors: ["precondition_failed"],
  handle: async ({ ctx, deps, partner, params: { slug, uploadId } }) => {
    requireTusVersion(ctx);
    const { id } = await requirePartnerGame(deps, partner, slug);
    await endUpload(deps, id, uploadId);
    ctx.status = 204;
  },
});

/** Routes for uploads in chunks. */
export const resumableRoutes: readonly Route<ResumableDeps>[] = [create, show, append, remove];

async function findUpload(
  { postgres }: { postgres: Postgres },
  game: PartnerGame,
  id: string,
): Promise<ResumableUploadRow> {
  const upload = await findResumableUpload(postgres.pool, game.id, id);
  if (upload === undefined) throw noSuchUpload(id);
  return upload;
}
