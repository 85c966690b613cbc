import type { GameSession, GameSessionConditionType } from "./gameSession.ts";
import { conditionStatus } from "./sessionConditions.ts";

/** The steps of a launch that the cluster goes through, in order; the browser's connection comes after them. */
export const clusterLaunchSteps = ["scheduling", "downloading", "restoring", "booting"] as const;
export type ClusterLaunchStep = (typeof clusterLaunchSteps)[number];

const endOf: Record<ClusterLaunchStep, GameSessionConditionType> = { scheduling: "Scheduled", downloading: "ContentReady", restoring: "SaveRestored", booting: "Ready" };

/** Returns the first step that the launch has not done with; undefined of a session that was ready once. */
export function clusterLaunchStepOf(session: GameSession): ClusterLaunchStep | undefined {
  if (session.status?.readyAt !== undefined) return undefined;
  return clusterLaunchSteps.find((step) => conditionStatus(session, endOf[step]) !== "True");
}
