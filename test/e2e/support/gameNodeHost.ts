import { z } from "zod";
import { isConditionTrue } from "#kube/api/conditions.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { runEngine, runOnNode, signalOnNode } from "./nodeContainer.ts";
import { nodesNamespace, platform, sessionsNamespace } from "./platform.ts";

const nodeRoot = "/var/lib/joypod";
const warningLevels = ["warn", "error", "fatal"];
const LogLine = z.looseObject({ level: z.string() });

const kubeletPattern = ["-x", "kubelet"];
const agentPattern = ["-f", "programs/nodeAgent[.]js"];

/** A game node of the local cluster, which is a container, and its node agent. */
export class GameNodeHost {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  /**
   * Returns the resident memory of the agent's processes, which are children of the container's first
   * process.
   */
  async agentRssBytes(): Promise<number> {
    const pids = (await this.#run("pgrep", ...agentPattern)).trim().replaceAll("\n", ",");
    const sizes = (await this.#run("ps", "-p", pids, "-o", "rss=")).trim().split("\n");
    return sizes.reduce((sum, size) => sum + kibibytes(size.trim()), 0);
  }

  /** Returns the agent's pod and its number of restarts. */
  async agentLife(): Promise<{ uid: string; restarts: number; isReady: boolean }> {
    const { uid, restarts, isReady } = await this.#agent();
    return { uid, restarts, isReady };
  }

  /** Returns the agent's log lines about a session, from level warning. */
  async agentWarnings(sessionId: string): Promise<string[]> {
    const { name } = await this.#agent();
    const log = await (await platform()).kubectl(["-n", nodesNamespace, "logs", name, "--since", "10m"]);
    return log
      .split("\n")
      .filter(
        (line) =>
          line.includes(sessionId) &&
          line.startsWith("{") &&
          warningLevels.includes(LogLine.parse(JSON.parse(line)).level),
      );
  }

  /** Returns the resident memory of the kubelet. */
  async kubeletRssBytes(): Promise<number> {
    return kibibytes((await this.#run("ps", "-C", "kubelet", "-o", "rss=")).trim());
  }

  /** Returns the bytes in the agent's folder on the node's disk. */
  async diskBytes(): Promise<number> {
    return kibibytes((await this.#run("du", "-sk", nodeRoot)).split("\t")[0]);
  }

  /** Returns the bytes of the logs of a session's containers. */
  async logBytes(sessionId: string): Promise<number> {
    return kibibytes(
      (
        await this.#run("sh", "-c", `du -skc /var/log/pods/${sessionsNamespace}_${sessionId}_* | tail -n 1`)
      ).split("\t")[0],
    );
  }

  /** Returns the kernel's limit for processes and threads of all containers of a pod together, or "max". */
  async podPidsMax(podUid: string): Promise<string> {
    const folder = `*pod${podUid.replaceAll("-", "_")}.slice`;
    const found = await this.#run(
      "find",
      "/sys/fs/cgroup",
      "-path",
      `${folder}/pids.max`,
      "-not",
      "-path",
      "*.scope/*",
      "-exec",
      "cat",
      "{}",
      ";",
    );
    if (!/^(\d+|max)$/.test(found))
      throw new Error(`${this.name} has no one limit of processes for pod ${podUid}: "${found}".`);
    return found;
  }

  /** Waits until the node keeps nothing of the session. */
  async forgets(sessionId: string): Promise<void> {
    await eventually(
      async () => {
        const left = await this.#run("find", nodeRoot, "-maxdepth", "4", "-name", `*${sessionId}*`);
        if (left !== "") throw new Error(left);
        return true;
      },
      { timeoutMs: 60_000, intervalMs: 1000, what: `${this.name} to keep nothing of ${sessionId}` },
    );
  }

  /** Stops the kubelet with SIGSTOP, as if it hung. The containers that it started keep running. */
  async silenceKubelet(): Promise<void> {
    await signalOnNode(this.name, "STOP", ...kubeletPattern);
  }

  /**
   * Stops the node agent with SIGSTOP. Unless the kubelet is stopped too, it replaces the agent after a
   * minute.
   */
  async silenceAgent(): Promise<void> {
    await signalOnNode(this.name, "STOP", ...agentPattern);
  }

  /** Stops both the kubelet and the node agent. */
  async silence(): Promise<void> {
    await Promise.all([this.silenceKubelet(), this.silenceAgent()]);
  }

  /** Freezes everything on the node, including games. */
  async freeze(): Promise<void> {
    await runEngine("pause", this.name);
  }

  /** Undoes all faults of the node, and waits until it accepts sessions again. */
  async heal(): Promise<void> {
    const state = await runEngine("inspect", "--format", "{{.State.Status}}", this.name);
    if (state === "paused") await runEngine("unpause", this.name);
    await signalOnNode(this.name, "CONT", ...kubeletPattern);
    await signalOnNode(this.name, "CONT", ...agentPattern);
    await this.takesSessions(true);
  }

  /** Waits until the node accepts sessions, or does not. */
  async takesSessions(isWanted: boolean, timeoutMs = 120_000): Promise<void> {
    const { gameNodes } = await platform();
    await eventually(
      async () => {
        const { status } = await gameNodes.get({ name: this.name });
        if (status?.capacity?.schedulable !== isWanted)
          throw new Error(JSON.stringify({ ...status, cache: undefined }));
        return true;
      },
      { timeoutMs, intervalMs: 500, what: `${this.name} ${isWanted ? "to take" : "to take no"} sessions` },
    );
  }

  /** Waits until the operator has declared the node lost. */
  async isLost(timeoutMs = 60_000): Promise<void> {
    const { gameNodes } = await platform();
    await eventually(
      async () => isConditionTrue((await gameNodes.get({ name: this.name })).status?.conditions, "Lost"),
      {
        timeoutMs,
        intervalMs: 500,
        what: `${this.name} to be declared lost`,
      },
    );
  }

  async #run(...command: string[]): Promise<string> {
    return runOnNode(this.name, ...command);
  }

  async #agent(): Promise<{ name: string; uid: string; restarts: number; isReady: boolean }> {
    const { items } = await (
      await platform()
    ).pods.list({ namespace: nodesNamespace, labelSelector: "app.kubernetes.io/component=node-agent" });
    const pod = items.find(
      ({ spec, metadata }) => spec?.nodeName === this.name && metadata.deletionTimestamp === undefined,
    );
    if (pod === undefined) throw new Error(`There is no agent on ${this.name}.`);
    const container = pod.status?.containerStatuses?.[0];
    return {
      name: pod.metadata.name,
      uid: pod.metadata.uid,
      restarts: container?.restartCount ?? 0,
      isReady: container?.ready ?? false,
    };
  }
}

function kibibytes(text: string | undefined): number {
  const value = Number(text);
  if (text === undefined || text === "" || !Number.isFinite(value))
    throw new Error(`"${text ?? ""}" is no number of KiB.`);
  return value * 1024;
}
