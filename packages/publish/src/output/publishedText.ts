import type { Published } from "../publish.ts";
import type { Verification } from "../server/responses.ts";
import { isOver } from "../waitForVerification.ts";

/** Returns what was published, who gets it, and what the person can do next. */
export function publishedText(published: Published, address: URL): string {
  const { slug, upload, distribution, verification } = published;
  return [
    `Published ${slug}, version ${upload.versionId}.`,
    ...(distribution === undefined ? [] : [distributionText(distribution)]),
    ...(verification === undefined ? [] : verificationLines(verification)),
    audienceText(published, new URL(`/games/${slug}`, address).href),
  ].join("\n");
}

/** Returns the verdict, and a line for each finding. */
export function verificationLines(verification: Verification): string[] {
  const { state, verdict, findings } = verification;
  if (!isOver(verification)) return [`It is not verified yet: ${state}.`];
  if (verdict === null) return ["It was not verified, because no game server was free."];
  return [
    `The platform played it. The verdict is ${verdict}.`,
    ...findings.map(({ severity, message, details, help }) => {
      const seen = details.length === 0 ? "" : ` [${details.join(", ")}]`;
      return `  ${severity}: ${message}${seen} See ${help}`;
    }),
  ];
}

function distributionText({ servers, cached, pending }: NonNullable<Published["distribution"]>): string {
  if (servers === 0) return "The site has no game server at the moment.";
  const held = `Game servers that hold it: ${cached} of ${servers}.`;
  if (pending.length === 0) return held;
  const reasons = pending
    .filter(({ isExpected }) => isExpected)
    .map(({ id, message = "pending" }) => `\n  ${id}: ${message}`);
  return reasons.length > 0 ? held + reasons.join("") : `${held} The others fetch it when a player needs it.`;
}

function audienceText({ slug, channel, isPrivate, isCurrent, upload }: Published, page: string): string {
  const audience = isPrivate ? "Testers" : "Players";
  if (isCurrent) return `${audience} get it: ${page}`;
  const activate = `npx joypod-publish activate ${upload.versionId} --game ${slug}`;
  if (channel !== undefined) return `Testers of ${channel} get it: ${page}\nGive it to everyone: ${activate}`;
  return `Nobody gets it yet. To change that: ${activate}`;
}
