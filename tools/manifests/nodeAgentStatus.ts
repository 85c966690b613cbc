import { GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { GameSessionStatus } from "#contracts/crd/gameSession.ts";
import { statusRights } from "#node-agent/rbac.ts";

/** What the node agent's writes to each status are held to: the conditions that are its own, and the fields that are others'. */
export const nodeAgentStatus = {
  gamenodes: boundsOf(statusRights.gamenodes, Object.keys(GameNodeStatus.shape)),
  gamesessions: boundsOf(statusRights.gamesessions, Object.keys(GameSessionStatus.shape)),
};

function boundsOf(
  { conditions, fields }: { conditions: readonly string[]; fields: readonly string[] }, all: readonly string[],
): { ownConditions: string[]; othersFields: string[] } {
  return { ownConditions: [...conditions], othersFields: all.filter((field) => field !== "conditions" && !fields.includes(field)) };
}
