import { limits } from "./limits.ts";

/** The ConfigMap in the release's namespace that turns maintenance on by being there. */
export const maintenanceConfigMap = "joypod-maintenance";

/** Maintenance, as players and admins are told of it: no game is launched, and what is played goes on. */
export interface Maintenance {
  /** When it began, in ISO 8601. */
  since: string;
  /** What the admin wrote for players; undefined when nothing. */
  message: string | undefined;
}

/** The ConfigMap's `data`, as `joypod` and `kubectl joypod` write it. */
export function maintenanceData({ since, message }: Maintenance): Record<string, string> {
  return { since, ...(message !== undefined && { message }) };
}

/**
 * Reads the ConfigMap: one that was written by hand may lack both entries, or hold more text than is shown.
 */
export function readMaintenance({
  metadata,
  data,
}: {
  metadata: { creationTimestamp: string };
  data?: Readonly<Record<string, string>> | undefined;
}): Maintenance {
  const { since, message = "" } = data ?? {};
  const moment = new Date(since ?? metadata.creationTimestamp);
  const line = message.replaceAll(/[\p{Cc}\s]+/gu, " ").trim();
  return {
    since: (Number.isNaN(moment.getTime()) ? new Date(metadata.creationTimestamp) : moment).toISOString(),
    message: line === "" ? undefined : line.slice(0, limits.maintenance.messageMaxLength).toWellFormed(),
  };
}
