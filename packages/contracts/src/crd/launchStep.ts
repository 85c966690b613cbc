import type { GameSession, GameSessionConditionType } from "./gameSession.ts";
import { conditionStatus } from "./sessionState.ts";

/** The steps of a launch, in order. */
export const launchSteps = ["scheduling", "downloading", "restoring", "booting", "connecting"] as const;
export type LaunchStep = (typeof launchSteps)[number];

/** The condition that ends each step. */
const endConditions: Record<LaunchStep, GameSessionConditionType> = {
  scheduling: "Scheduled",
  downloading: "ContentReady",
  restoring: "SaveRestored",
  booting: "PodReady",
  connecting: "Ready",
};

/**
 * Returns the first step that the launch has not completed; undefined if all are complete. `isContentCached`
 * tells whether the session's GameNode lists the session's version as ready.
 */
export function launchStepOf(session: GameSession, isContentCached: boolean): LaunchStep | undefined {
  return launchSteps.find(
    (step) =>
      !(step === "downloading"
        ? hasContent(session, isContentCached)
        : conditionStatus(session, endConditions[step]) === "True"),
  );
}

/** The steps that metrics measure: from the pod's start until the session is ready, a launch is booting. */
export const measuredLaunchSteps = ["scheduling", "downloading", "restoring", "booting"] as const;
export type MeasuredLaunchStep = (typeof measuredLaunchSteps)[number];

/** Returns the launch's step as metrics name it; undefined for a session that was ready once. */
export function measuredLaunchStepOf(
  session: GameSession,
  isContentCached: boolean,
): MeasuredLaunchStep | undefined {
  if (session.status?.readyAt !== undefined) return undefined;
  const step = launchStepOf(session, isContentCached);
  return step === "connecting" ? "booting" : step;
}

/**
 * Returns whether the launch needs no download. For a version that the GameNode lists as ready, the node
 * agent sets ContentReady only together with SaveRestored, unless files are missing.
 */
function hasContent(session: GameSession, isContentCached: boolean): boolean {
  const contentReady = conditionStatus(session, "ContentReady");
  return contentReady === "True" || (isContentCached && contentReady !== "False");
}
