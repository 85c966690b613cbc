import type { Event } from "#kube/api/builtin.ts";

/** Returns when an event last happened: the kubelet's older form has no `eventTime`. */
export function timeOfEvent({ eventTime, deprecatedLastTimestamp, metadata }: Event): string | undefined {
  const times: readonly (string | null | undefined)[] = [
    eventTime,
    deprecatedLastTimestamp,
    metadata.creationTimestamp,
  ];
  return times.find((time) => typeof time === "string") ?? undefined;
}
