import type { Maintenance } from "#contracts/maintenance.ts";
import { DomainError } from "../errors.ts";

/** Nobody knows the end; a client that asks once a minute hears of it soon enough. */
const retryAfterSeconds = 60;

/** Throws maintenance while an admin works on the service, with what they say of it. */
export function refuseInMaintenance(maintenance: { current: () => Maintenance | undefined }): void {
  const current = maintenance.current();
  if (current === undefined) return;
  const message =
    current.message ?? "Joypod is being worked on, and no game can be started just now: try again later.";
  throw new DomainError("maintenance", { message, retryAfterSeconds });
}
