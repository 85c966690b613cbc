import { expect } from "chai";
import type { Pod } from "#kube/builtin.ts";
import { aGameSession } from "#test/factories/gameSession.ts";
import { aSessionPod, containerStatus, ended } from "#test/factories/sessionPod.ts";
import { isInterrupted } from "#operator/sessionPods/podState.ts";

const startedAt = "2030-01-01T10:00:05Z";
const game = (state: Parameters<typeof containerStatus>[1]) => ({ containerStatuses: [containerStatus("game", state)] });
const ready = (status: string, lastTransitionTime: string) => ({ conditions: [{ type: "Ready", status, lastTransitionTime }] });

describe("isInterrupted", () => {
  const cases: [string, NonNullable<Pod["status"]>, boolean][] = [
    ["a pod that is ready", { ...ready("True", "2030-01-01T10:00:06Z"), ...game({ running: { startedAt } }) }, false],
    ["a start that the kubelet has not seen yet", { ...ready("False", "2030-01-01T10:00:03Z"), ...game({ waiting: { reason: "PodInitializing" } }) }, false],
    ["a start whose probes the kubelet has yet to make", { ...ready("False", "2030-01-01T10:00:03Z"), ...game({ running: { startedAt } }) }, false],
    ["a pod that was ready", { ...ready("False", "2030-01-01T10:00:09Z"), ...game({ running: { startedAt } }) }, true],
    ["a pod that only the cluster has marked, as its kubelet is silent",
      { conditions: [{ type: "Ready", status: "False", lastTransitionTime: "2030-01-01T10:00:09Z" }, { type: "ContainersReady", status: "True" }], ...game({ running: { startedAt } }) }, false],
    ["a game that has ended", ended(), true],
  ];
  for (const [what, status, expected] of cases) {
    it(`is ${expected} for ${what}`, () => expect(isInterrupted(aSessionPod(aGameSession(), { status }))).to.equal(expected));
  }
});
