import type { GameSession, GameSessionConditionType } from "./gameSession.ts";
import { conditionStatus } from "./sessionState.ts";

/**
 * The steps of a launch that the cluster goes through, in order; the browser's connection comes after them.
 */
export const clusterLaunchSteps = ["scheduling", "downloading", "restoring", "booting"] as const;
export type ClusterLaunchStep = (typeof clusterLaunchSteps)[number];

const endOf: Record<ClusterLaunchStep, GameSessionConditionType> = {
  scheduling: "Scheduled",
  downloading: "ContentReady",
  restoring: "SaveRestored",
  booting: "Ready",
};

/**
 * Returns the first step that the launch has not done with; undefined of a session that was ready once.
 * `isContentCached` says whether the session's GameNode lists its version as ready.
 */
export function clusterLaunchStepOf(
  session: GameSession,
  isContentCached: boolean,
): ClusterLaunchStep | undefined {
  if (session.status?.readyAt !== undefined) return undefined;
  return clusterLaunchSteps.find(
    (step) =>
      !(step === "downloading"
        ? hasContent(session, isContentCached)
        : conditionStatus(session, endOf[step]) === "True"),
  );
}

/**
 * Returns whether the launch waits for no download. The agent says nothing of a game that the GameNode lists
 * before the save is restored, unless something is missing in it.
 */
export function hasContent(session: GameSession, isContentCached: boolean): boolean {
  const said = conditionStatus(session, endOf.downloading);
  return said === "True" || (isContentCached && said !== "False");
}
