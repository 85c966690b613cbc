import { gzipSync } from "node:zlib";
import { runObservationsKey } from "#contracts/objectKeys.ts";
import type { SessionObservations } from "#contracts/observations.ts";
import { parseGameTermination } from "#contracts/termination.ts";
import type { Deps } from "#api/deps.ts";
import { aSavePicture } from "./pictures.ts";
import { aTerminationReport } from "./sessionPod.ts";

/** Returns what a session has observed of a good game, which ended after the close request. */
export function someObservations(
  overrides: Partial<Omit<SessionObservations, "game">> = {},
  end: Record<string, unknown> | null = {},
): SessionObservations {
  const report = { endedBy: "close-request", hasOutlivedLauncher: false, ...end };
  return {
    version: 1,
    seconds: 60.5,
    firstWindowSeconds: 1.5,
    firstPictureSeconds: 1.8,
    isMeasured: true,
    framesPerSecond: 59.9,
    hasSound: true,
    hasOpenedGamepad: true,
    windowsOpened: 1,
    pictures: [],
    refusals: [],
    ...overrides,
    game: end === null ? null : (parseGameTermination(aTerminationReport(report)) ?? null),
  };
}

/** Stores a verification whose session has observed a good game, with a picture after 5 seconds. */
export async function storeObservations(
  { postgres, objectStore: { client, bucket } }: Pick<Deps, "postgres" | "objectStore">,
  verification: { gameId: string; versionId: string; sessionId: string },
): Promise<void> {
  await postgres.prisma.gameVerification.create({ data: { ...verification, state: "running" } });
  const pictures = [{ atSeconds: 5, jpeg: aSavePicture().toString("base64") }];
  const packed = gzipSync(JSON.stringify(someObservations({ pictures })));
  await client.putObject(bucket, runObservationsKey(verification.sessionId), packed);
}
