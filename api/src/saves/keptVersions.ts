import type { SaveVersion } from "./saveVersionQueries.ts";

/** How much of a slot's history is kept. */
export interface HistoryRule {
  /** How many of the slot's last versions are kept. */
  versionsKept: number;
  /** And the last version of each day, for so many days. */
  dailyVersionsDays: number;
  /** And conflict copies for so long. */
  retentionMs: number;
}

type DatedVersion = Pick<SaveVersion, "id" | "kind" | "storedAt" | "supersededAt">;

/**
 * A session that starts from a save has read it within this time, even when another save took its place
 * meanwhile.
 */
export const graceMs = 3600_000;
const dayMs = 24 * 3600_000;

/**
 * Returns those of a slot's versions that are kept, the newest first: the slot's own, the last ones, the last
 * one of each earlier day, conflict copies that came lately, and what was superseded within the last hour. A
 * version that is not kept now never is again.
 */
export function keptVersions<Version extends DatedVersion>(
  versions: readonly Version[],
  rule: HistoryRule,
  now: Date,
): Version[] {
  const newestFirst = versions.toSorted((a, b) => b.storedAt.getTime() - a.storedAt.getTime());
  const days = new Set<number>();
  return newestFirst.filter((version, index) => {
    const day = Math.floor(version.storedAt.getTime() / dayMs);
    const isLastOfDay = !days.has(day);
    days.add(day);
    if (index < rule.versionsKept || isWanted(version, rule, now)) return true;
    return isLastOfDay && ageMs(version.storedAt, now) < rule.dailyVersionsDays * dayMs;
  });
}

function isWanted(
  { kind, storedAt, supersededAt }: DatedVersion,
  { retentionMs }: HistoryRule,
  now: Date,
): boolean {
  if (kind === "conflict") return ageMs(storedAt, now) < Math.max(retentionMs, graceMs);
  // A requested save was never the slot's own: its age alone decides.
  if (supersededAt === null) return kind !== "requested";
  return ageMs(supersededAt, now) < graceMs;
}

function ageMs(since: Date, now: Date): number {
  return now.getTime() - since.getTime();
}
