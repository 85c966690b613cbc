import { z } from "zod";
import { ErrorCode, ErrorDetail } from "./errors.ts";
import { UploadResponse } from "./gameVersions.ts";
import { isoMoment, opaqueId, slug } from "./text.ts";

/** What tus 1.0 clients and this service agree on. */
export const tus = {
  version: "1.0.0",
  extensions: "creation,expiration,termination,checksum",
  checksumAlgorithms: ["sha1", "sha256"],
  chunkType: "application/offset+octet-stream",
} as const;

export const ResumableUploadParams = z.object({ slug, uploadId: opaqueId });

/** Why an archive was refused, as in an error response. */
export const UploadRefusal = z
  .object({ error: ErrorCode, message: z.string(), details: z.array(ErrorDetail).optional() })
  .meta({ id: "UploadRefusal", description: "Why the archive was refused." });
export type UploadRefusal = z.infer<typeof UploadRefusal>;

export const ResumableUpload = z
  .object({
    id: z.string().meta({ examples: ["0f6b2c1e-8d4a-4c55-9f0e-3f1b7a9c2d10"] }),
    offset: z
      .int()
      .min(0)
      .meta({ description: "Stored bytes. The next chunk starts here.", examples: [67_108_864] }),
    length: z
      .int()
      .min(1)
      .meta({ description: "Bytes of the whole archive.", examples: [73_400_320] }),
    state: z.enum(["receiving", "checking", "done", "refused"]).meta({
      description:
        "`receiving`: chunks are missing. `checking`: the archive is complete and is being inspected. `done`: see `result`. `refused`: see `error`.",
    }),
    expiresAt: isoMoment.meta({ description: "When the upload, or the record of its end, is removed." }),
    result: UploadResponse.optional(),
    error: UploadRefusal.optional(),
  })
  .meta({ id: "ResumableUpload", description: "The state of an upload in chunks." });
export type ResumableUpload = z.infer<typeof ResumableUpload>;
