import { limits } from "./limits.ts";

/** Name of the ConfigMap in the release's namespace. Maintenance is on while it exists. */
export const maintenanceConfigMap = "joypod-maintenance";

/** Maintenance as shown to players and admins: no game can be launched, and running sessions continue. */
export interface Maintenance {
  /** When it began, in ISO 8601. */
  since: string;
  /** The admin's message to players; undefined without one. */
  message: string | undefined;
}

/** The ConfigMap's `data`, written by `joypod` and `kubectl joypod`. */
export function maintenanceData({ since, message }: Maintenance): Record<string, string> {
  return { since, ...(message !== undefined && { message }) };
}

/**
 * Reads the ConfigMap. A manually created one may lack both entries, or contain a longer message than is
 * shown.
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
  const line = lineOf(message, limits.maintenance.messageMaxLength);
  return {
    since: (Number.isNaN(moment.getTime()) ? new Date(metadata.creationTimestamp) : moment).toISOString(),
    message: line === "" ? undefined : line,
  };
}

/** Returns the text as one line of at most `maxLength` characters. */
export function lineOf(text: string, maxLength: number): string {
  return text
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, maxLength)
    .toWellFormed();
}
