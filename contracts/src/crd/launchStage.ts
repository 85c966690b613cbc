import type { LaunchStage } from "../http/gameSessions.ts";
import type { GameSession, GameSessionConditionType } from "./gameSession.ts";
import { conditionStatus } from "./sessionConditions.ts";

/** The stages of a launch that the cluster goes through, in order; the browser's connection comes after them. */
export const clusterLaunchStages = ["scheduling", "downloading", "restoring", "booting"] as const satisfies readonly LaunchStage[];
export type ClusterLaunchStage = (typeof clusterLaunchStages)[number];

const endOf: Record<ClusterLaunchStage, GameSessionConditionType> = { scheduling: "Scheduled", downloading: "ContentReady", restoring: "SaveRestored", booting: "Ready" };

/** Returns the first stage that the launch has not done with; undefined of a session that was ready once. */
export function clusterLaunchStageOf(session: GameSession): ClusterLaunchStage | undefined {
  if (session.status?.readyAt !== undefined) return undefined;
  return clusterLaunchStages.find((stage) => conditionStatus(session, endOf[stage]) !== "True");
}
