import type { Condition } from "#contracts/crd/kind.ts";
import {
  type NodeAgentReasons,
  gameSessionConditions,
  type GameSession,
  type NodeAgentConditionType,
  type StoredSave,
} from "#contracts/crd/gameSession.ts";
import { fieldManagers } from "#contracts/crd/names.ts";
import { unsetReasons } from "#contracts/crd/gameSessionReasons.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { findCondition, setCondition } from "#kube/api/conditions.ts";
import type { Stored } from "#kube/api/object.ts";
import { writeStatus } from "#kube/controllers/reconciler.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";

/** The agent's result for one condition. */
export interface Finding<T extends NodeAgentConditionType = NodeAgentConditionType> {
  type: T;
  status: "True" | "False" | "Unknown";
  reason: NodeAgentReasons[T];
  message: string;
}

/** Writes the agent's part of a session's status. */
export interface SessionReporter {
  /** Adds the findings to the status in one write, or in none if nothing is new. Returns whether it wrote. */
  report(
    session: Stored<GameSession>,
    findings: readonly Finding[],
    save: StoredSave | undefined,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Forgets the reports of a finished session. */
  forget(uid: string): void;
}

interface Said {
  conditions: Condition[];
  save: StoredSave | undefined;
  /** When this process wrote it. Undefined if an earlier process did. */
  writtenAt?: Date;
}

/**
 * Within this time the watch shows the agent's own writes. A write that is missing after that was edited away
 * by somebody.
 */
export const shownWithinMs = 5_000;

/** Returns a reporter. It remembers the agent's own writes until the watch shows them. */
export function createSessionReporter(client: ResourceClient<GameSession>, clock: Clock): SessionReporter {
  const said = new Map<string, Said>();
  return {
    async report(session, findings, save, signal) {
      const { uid } = session.metadata;
      const before = said.get(uid) ?? saidBefore(session);
      const next = {
        conditions: conditionsAfter(session, before.conditions, findings, clock.now()),
        save: save ?? before.save,
      };
      if (isSame(before, next) && !isForgotten(session, before, clock.now())) {
        said.set(uid, before);
        return false;
      }
      const { name, namespace } = session.metadata;
      const status = { conditions: next.conditions, ...(next.save === undefined ? {} : { save: next.save }) };
      await writeStatus(
        client,
        { metadata: { name, namespace, uid }, status },
        { fieldManager: fieldManagers.nodeAgent, signal },
      );
      said.set(uid, { ...next, writtenAt: clock.now() });
      return true;
    },
    forget: (uid) => void said.delete(uid),
  };
}

function saidBefore({ status }: GameSession): Said {
  const own: readonly string[] = gameSessionConditions.nodeAgent;
  return {
    conditions: (status?.conditions ?? []).filter(({ type }) => own.includes(type)),
    save: status?.save,
  };
}

/** Returns all of the agent's conditions. Those without a result yet are Unknown. */
function conditionsAfter(
  { metadata }: Stored<GameSession>,
  before: Condition[],
  findings: readonly Finding[],
  now: Date,
): Condition[] {
  const { generation: observedGeneration } = metadata;
  let conditions = before;
  for (const type of gameSessionConditions.nodeAgent) {
    const known = findCondition(conditions, type);
    const unknown: Finding = { type, status: "Unknown", reason: unsetReasons.notYet, message: "" };
    const finding =
      findings.find((other) => other.type === type) ?? (known === undefined ? unknown : undefined);
    if (finding === undefined) continue;
    const update = {
      ...finding,
      message: finding.message.slice(0, 1024),
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
    };
    conditions = setCondition(conditions, update, now);
  }
  return conditions;
}

/** Returns whether the session's status has lost the agent's report. */
function isForgotten({ status }: GameSession, { conditions, save, writtenAt }: Said, now: Date): boolean {
  if (writtenAt === undefined || now.getTime() - writtenAt.getTime() < shownWithinMs) return false;
  const isShown = ({ type, status: is, reason }: Condition): boolean => {
    const shown = findCondition(status?.conditions, type);
    return shown?.status === is && shown.reason === reason;
  };
  return !conditions.every(isShown) || save?.objectKey !== status?.save?.objectKey;
}

function isSame(left: Said, right: Said): boolean {
  const words = ({ conditions, save }: Said): string =>
    JSON.stringify([
      conditions.map(({ type, status, reason, message }) => [type, status, reason, message]),
      save?.objectKey,
      save?.sequence,
      save?.final,
      save?.requestedAt,
    ]);
  return words(left) === words(right);
}
