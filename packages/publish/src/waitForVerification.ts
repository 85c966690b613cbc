import type { Clock } from "#runtime/scheduling/clock.ts";
import type { PartnerApi } from "./server/partnerApi.ts";
import type { Verification } from "./server/responses.ts";

const intervalMs = 5000;

/**
 * Waits until the platform has played the version, or the time is up. Returns the last state; undefined if
 * the version is not verified.
 */
export async function waitForVerification(
  api: PartnerApi,
  versionId: string,
  { clock, signal, timeoutMs }: { clock: Clock; signal: AbortSignal; timeoutMs: number },
  onChange: (state: string) => void,
): Promise<Verification | undefined> {
  const endMs = clock.monotonicMs() + timeoutMs;
  let shown: string | undefined;
  for (;;) {
    const verification = await api.findVerification(versionId);
    if (verification === undefined || isOver(verification)) return verification;
    if (verification.state !== shown) onChange(verification.state);
    shown = verification.state;
    if (clock.monotonicMs() + intervalMs > endMs) return verification;
    await clock.sleep(intervalMs, signal);
  }
}

/** Returns whether there is a verdict, or will never be one. */
export function isOver({ state }: Verification): boolean {
  return state !== "waiting" && state !== "running";
}
