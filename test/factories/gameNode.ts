import type { CacheEntry, GameNode, GameNodeSpec, GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { apiVersion } from "#contracts/crd/kind.ts";
import type { Node } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import { aDigest, createdAt } from "./gameSession.ts";

/** Returns a GameNode with the entries that its agent reports. */
export function aGameNode(
  name = "node1",
  {
    spec,
    status,
    entries = [],
  }: { spec?: GameNodeSpec; status?: GameNodeStatus; entries?: CacheEntry[] } = {},
): Stored<GameNode> {
  return {
    apiVersion,
    kind: "GameNode",
    metadata: {
      name,
      uid: `uid-of-gamenode-${name}`,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: createdAt,
    },
    spec: spec ?? { desired: [] },
    status: {
      cache: { capacityBytes: 1e12, freeBytes: 1e12, entries },
      heartbeat: { renewedAt: createdAt, agentVersion: "0.1.0" },
      ...status,
    },
  };
}

/** Returns an agent's report of one version. */
export function aCacheEntry(overrides: Partial<CacheEntry> = {}): CacheEntry {
  return { digest: aDigest, state: "Ready", bytes: 1000, inUse: false, ...overrides };
}

/** Returns a Kubernetes node that can run games. */
export function aNode(
  name = "node1",
  {
    labels = {},
    annotations,
    isReady = true,
    isCordoned = false,
    allocatable,
    addresses,
  }: {
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    isReady?: boolean;
    isCordoned?: boolean;
    allocatable?: Record<string, string>;
    addresses?: { type: string; address: string }[];
  } = {},
): Stored<Node> {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      uid: `uid-of-node-${name}`,
      resourceVersion: "1",
      creationTimestamp: createdAt,
      labels: { "nvidia.com/gpu.present": "true", ...labels },
      annotations,
    },
    spec: { unschedulable: isCordoned },
    status: {
      conditions: [{ type: "Ready", status: isReady ? "True" : "Unknown" }],
      addresses: addresses ?? [{ type: "InternalIP", address: "192.0.2.1" }],
      ...(allocatable === undefined ? {} : { allocatable }),
    },
  };
}
