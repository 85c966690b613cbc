import { createHash } from "node:crypto";
import { readCliConfig } from "#api/cli/config.ts";
import { readConfig as readApiConfig } from "#api/config.ts";
import { readConfig as readSecretsConfig } from "#api/installation/secrets/config.ts";
import { readConfig as readStoreKeysConfig } from "#api/installation/storeKeys/config.ts";
import { readConfig as readNodeAgentConfig } from "#node-agent/config.ts";
import { readConfig as readOperatorConfig } from "#operator/config.ts";
import { buildPod } from "#operator/controllers/gameSession/pod.ts";
import { readConfig as readDrainConfig } from "#operator/drain/config.ts";
import { buildProbePod } from "#operator/networkProbe/probePod.ts";
import { readConfig as readConnectionTestConfig } from "#streamer/connectionTest/config.ts";
import { readConfig as readStreamerConfig } from "#streamer/config.ts";
import { aGameSession } from "#test/factories/gameSession.ts";
import type { Container, KubeObject, Manifest, PodSpec } from "./helmTemplate.ts";

type Environment = Record<string, string>;

/**
 * How each program of ours reads its environment, by its container's name. The relay is written in Go, and
 * reads its own in turn's tests.
 */
const readers: Record<string, (environment: Environment) => unknown> = {
  api: readApiConfig,
  migrate: readCliConfig,
  operator: readOperatorConfig,
  "node-test": readOperatorConfig,
  "node-agent": readNodeAgentConfig,
  "connection-test": readConnectionTestConfig,
  drain: readDrainConfig,
  "make-secrets": readSecretsConfig,
  "store-keys": readStoreKeysConfig,
};

/**
 * What reads nothing of its environment; game and streamer are those that only hold their images on a node.
 */
const others = ["postgres", "redis", "minio", "turn", "network-test", "game", "streamer"];

const key = createHash("sha256").update("a key of the tests").digest();

/** What the secrets hold, by key. */
const secrets: Environment = {
  signingKeys: `a:${key.toString("base64")}`,
  passwordPepper: key.toString("hex"),
  ticketSecret: key.toString("base64"),
  signingKey: key.toString("base64"),
  publicKey: "A".repeat(43),
  secret: key.toString("base64url"),
  urls: "turn:relay.example.com:3478",
  endpoint: "https://s3.example.com",
  region: "us-east-1",
  bucket: "joypod",
  accessKey: "access",
  secretKey: "secret",
  username: "joypod",
  password: "secret",
};
const urls: Environment = {
  DATABASE_URL: "postgres://joypod:secret@postgres.example.com/joypod",
  REDIS_URL: "redis://:secret@redis.example.com",
};

const fields: Environment = {
  "spec.nodeName": "node-a",
  "status.podIP": "10.0.0.9",
  "status.hostIP": "192.0.2.1",
  "status.hostIPs": "192.0.2.1,2001:db8::1",
  "metadata.name": "pod-a",
  "metadata.namespace": "joypod",
};

/** Names of files that only a pod has mounted. */
const mountedFiles = [
  "AUTH_PROVIDERS_FILE",
  "DATABASE_CA_FILE",
  "REDIS_CA_FILE",
  "S3_CA_FILE",
  "NODE_AGENT_S3_CA_FILE",
];

/**
 * Returns what the container's program finds in its environment. Throws for a secret's key or a field that
 * nobody fills.
 */
function environmentOf({ env = [] }: Container): Environment {
  return Object.fromEntries(
    env
      .filter(({ name }) => !mountedFiles.includes(name))
      .map(({ name, value, valueFrom }): [string, string] => {
        const secretKey = valueFrom?.secretKeyRef?.key;
        const found =
          value ??
          (valueFrom?.fieldRef
            ? fields[valueFrom.fieldRef.fieldPath]
            : secretKey === "url"
              ? urls[name]
              : secrets[secretKey ?? ""]);
        if (found === undefined) throw new Error(`Nothing fills the variable ${name}.`);
        return [name, found];
      }),
  );
}

/** Returns the pods of the manifests, those of controllers included. */
export function podsOf(manifests: readonly Manifest[]): PodSpec[] {
  return manifests.flatMap(({ spec }) => {
    if (spec?.template) return [spec.template.spec];
    return spec?.containers ? [{ ...spec, containers: spec.containers }] : [];
  });
}

/**
 * Has every program read its environment as the pods carry it. Throws when one refuses it, or a container is
 * of no known program.
 */
export function readEnvironments(manifests: readonly Manifest[]): void {
  for (const container of podsOf(manifests).flatMap(({ containers, initContainers = [] }) => [
    ...containers,
    ...initContainers,
  ])) {
    if (others.includes(container.name)) continue;
    const read = readers[container.name];
    if (!read) throw new Error(`No program is known of the container ${container.name}.`);
    read(environmentOf(container));
  }
}

/**
 * Returns the pods that the operator would make by the environment that its pod carries, in its sessions
 * namespace; their streamers have read theirs.
 */
export function operatorPods(manifests: readonly Manifest[]): KubeObject[] {
  const operator = podsOf(manifests)
    .flatMap(({ containers }) => containers)
    .find(({ name }) => name === "operator");
  if (!operator) throw new Error("The chart makes no operator.");
  const { sessionsNamespace, sessionPod, networkProbe } = readOperatorConfig(environmentOf(operator));
  const place = {
    nodeName: "node-a",
    mediaPort: 20_000,
    addresses: ["192.0.2.1"],
    operatorPublicKey: "A".repeat(43),
  };
  const sessionPods = (["Software", "Gpu"] as const).map((profile) =>
    buildPod(
      aGameSession({ metadata: { namespace: sessionsNamespace }, spec: { profile } }),
      place,
      sessionPod,
    ),
  );
  for (const { spec } of sessionPods)
    for (const streamer of spec?.initContainers ?? []) readStreamerConfig(environmentOf(streamer));
  const probes = networkProbe ? [buildProbePod("covered", sessionsNamespace, networkProbe, [])] : [];
  return [...sessionPods, ...probes].map((pod) => ({ apiVersion: "v1", kind: "Pod", ...pod }));
}
