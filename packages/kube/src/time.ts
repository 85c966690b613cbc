/** Returns a time as Kubernetes keeps it: RFC 3339 in whole seconds. */
export function toApiTime(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}

/** Returns a time as leases and events keep it: RFC 3339 with microseconds. */
export function toApiMicroTime(time: Date): string {
  return time.toISOString().replace(/Z$/, "000Z");
}
