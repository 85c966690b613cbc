import { gameNodeConditions, GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { gameSessionConditions, GameSessionStatus } from "#contracts/crd/gameSession.ts";
import { statusRights } from "#node-agent/rbac.ts";

/**
 * Limits of the node agent's writes to each status: its own conditions, the operator's conditions, and the
 * fields of other writers.
 */
export const nodeAgentStatus = {
  gamenodes: boundsOf(statusRights.gamenodes, gameNodeConditions.operator, Object.keys(GameNodeStatus.shape)),
  gamesessions: boundsOf(
    statusRights.gamesessions,
    gameSessionConditions.operator,
    Object.keys(GameSessionStatus.shape),
  ),
};

interface StatusBounds {
  ownConditions: string[];
  operatorConditions: string[];
  othersFields: string[];
}

function boundsOf(
  { conditions, fields }: { conditions: readonly string[]; fields: readonly string[] },
  operatorConditions: readonly string[],
  all: readonly string[],
): StatusBounds {
  const othersFields = all.filter((field) => field !== "conditions" && !fields.includes(field));
  return { ownConditions: [...conditions], operatorConditions: [...operatorConditions], othersFields };
}
