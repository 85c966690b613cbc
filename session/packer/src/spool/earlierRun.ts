import { spoolNames } from "#contracts/nodeLayout.ts";
import type { RestoreReport, SpoolManifest } from "#contracts/spool.ts";
import { readSmallFile } from "./spoolFiles.ts";

/** Returns the report that an earlier run of this session's packer wrote; undefined when none did. */
export async function readReport(spool: string, uid: string): Promise<RestoreReport | undefined> {
  const text = readSmallFile(`${spool}/${spoolNames.report}`);
  if (text === undefined) return undefined;
  const { RestoreReport } = await import("#contracts/spool.ts");
  const report = RestoreReport.safeParse(parseJson(text));
  // A report that cannot be read was still written at the end of a restore: the saves must not be
  // overwritten.
  if (!report.success) return { version: 1, uid };
  return report.data.uid === uid ? report.data : undefined;
}

/** Returns the manifest that an earlier run of this session's packer wrote; undefined when none did. */
export async function readManifest(spool: string, uid: string): Promise<SpoolManifest | undefined> {
  const text = readSmallFile(`${spool}/${spoolNames.manifest}`);
  if (text === undefined) return undefined;
  const { SpoolManifest } = await import("#contracts/spool.ts");
  const manifest = SpoolManifest.safeParse(parseJson(text));
  return manifest.success && manifest.data.uid === uid ? manifest.data : undefined;
}

/**
 * Returns when the agent last asked for a save of this session; undefined when it did not. A request that
 * cannot be read counts as none.
 */
export async function readRequest(spool: string, uid: string): Promise<string | undefined> {
  const text = readSmallFile(`${spool}/${spoolNames.request}`);
  if (text === undefined) return undefined;
  const { SaveRequest } = await import("#contracts/spool.ts");
  const request = SaveRequest.safeParse(parseJson(text));
  return request.success && request.data.uid === uid ? request.data.requestedAt : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The schema rejects it.
  }
}
