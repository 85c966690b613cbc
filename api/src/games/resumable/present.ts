import { ResumableUpload } from "#contracts/http/resumableUploads.ts";
import type { ResumableUploadRow } from "./resumableQueries.ts";

/** Returns what the partner sees of an upload in chunks. */
export function presentResumableUpload({
  id,
  received,
  length,
  state,
  expiresAt,
  outcome,
}: ResumableUploadRow): ResumableUpload {
  return {
    id,
    offset: received,
    length,
    state: ResumableUpload.shape.state.parse(state),
    expiresAt: expiresAt.toISOString(),
    ...outcome,
  };
}
