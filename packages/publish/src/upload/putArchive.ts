import type { PackedArchive } from "../pack/packArchive.ts";
import { parseResponse, sendOnce, type PartnerApi } from "../server/partnerApi.ts";
import { Upload } from "../server/responses.ts";
import { withRetries, type RetryContext } from "../server/retry.ts";

/** What becomes of the uploaded version. */
export interface UploadWish {
  label?: string | undefined;
  notes?: string | undefined;
  channel?: string | undefined;
  autoActivate?: boolean | undefined;
}

/** Each attempt sends the whole archive, and counts as an upload. */
const attempts = 3;

/** Uploads the archive in one request. */
export function putArchive(
  api: PartnerApi,
  archive: PackedArchive,
  wish: UploadWish,
  retry: RetryContext,
  onProgress: (sentBytes: number) => void,
): Promise<Upload> {
  return withRetries(retry, attempts, async () => {
    onProgress(0);
    const response = await sendOnce(api.http, {
      method: "PUT",
      path: `${api.path}/upload${queryOf(wish)}`,
      headers: {
        "content-type": "application/gzip",
        "content-digest": `sha-256=:${Buffer.from(archive.sha256, "hex").toString("base64")}:`,
      },
      body: { file: archive.file, start: 0, bytes: archive.size, onProgress },
    });
    return parseResponse(Upload, response);
  });
}

function queryOf(wish: UploadWish): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(wish) as [string, string | boolean | undefined][])
    if (value !== undefined) query.set(name, String(value));
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
