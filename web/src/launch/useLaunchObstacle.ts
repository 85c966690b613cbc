import { useMaintenance } from "../service/useServiceStatus.ts";
import { useActiveGameSession } from "./useActiveGameSession.ts";

/**
 * Returns why no new game would start just now, in a sentence for the player; undefined while the page knows
 * of nothing.
 */
export function useLaunchObstacle(): string | undefined {
  const maintenance = useMaintenance();
  const active = useActiveGameSession();
  if (maintenance !== undefined) return "Joypod is being worked on, and no game can be started just now.";
  if (active === undefined) return undefined;
  return active.status === "stopping"
    ? `${active.gameTitle} is still being saved, and only one game can run at a time.`
    : `${active.gameTitle} is still running, and only one game can run at a time. Stop it first.`;
}
