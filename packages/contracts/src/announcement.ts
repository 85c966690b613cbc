import { limits } from "./limits.ts";
import { lineOf } from "./maintenance.ts";

/** Name of the ConfigMap in the release's namespace with a message to everyone who plays. */
export const announcementConfigMap = "joypod-announcement";

/** A message of the admins to everyone who plays. Both times are ISO 8601. */
export interface Announcement {
  message: string;
  since: string;
  /** When pages stop showing it. */
  until: string;
}

/** The ConfigMap's `data`, written by `kubectl joypod`. */
export function announcementData({ message, since, until }: Announcement): Record<string, string> {
  return { message, since, until };
}

/**
 * Reads the ConfigMap; undefined without a message. One that was written by hand may lack its times: it is
 * then shown for ten minutes from its creation.
 */
export function readAnnouncement({
  metadata,
  data,
}: {
  metadata: { creationTimestamp: string };
  data?: Readonly<Record<string, string>> | undefined;
}): Announcement | undefined {
  const message = lineOf(data?.message ?? "", limits.announcement.messageMaxLength);
  if (message === "") return undefined;
  const since = momentOf(data?.since) ?? new Date(metadata.creationTimestamp);
  const until = momentOf(data?.until) ?? new Date(since.getTime() + limits.announcement.shownSeconds * 1000);
  return { message, since: since.toISOString(), until: until.toISOString() };
}

function momentOf(text: string | undefined): Date | undefined {
  const moment = new Date(text ?? Number.NaN);
  return Number.isNaN(moment.getTime()) ? undefined : moment;
}
