import type { GameVerification } from "#contracts/http/gameVerifications.ts";
import type { VersionVerification } from "#contracts/http/gameVersions.ts";
import type { FoundVerification, VerificationState } from "../verificationQueries.ts";

/** Returns a verification in short; null for a version that was never verified. */
export function presentVersionVerification(state: VerificationState | null): VersionVerification | null {
  if (state === null) return null;
  return state === "good" || state === "bad" ? { state: "done", verdict: state } : { state, verdict: null };
}

/** Returns a verification as the partner sees it. */
export function presentVerification({
  state,
  isRequired,
  requestedAt,
  startedAt,
  finishedAt,
  verdict: stored,
}: FoundVerification): GameVerification {
  const hasVerdict = state === "good" || state === "bad";
  return {
    state: hasVerdict ? "done" : state,
    verdict: hasVerdict ? state : null,
    isRequired,
    requestedAt: requestedAt.toISOString(),
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
    findings: (hasVerdict && stored?.findings) || [],
    report: (hasVerdict && stored?.report) || null,
  };
}
