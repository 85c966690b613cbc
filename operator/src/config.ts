import { z } from "zod";
import { installationName } from "#contracts/crd/installation.ts";
import { leaderLeases } from "#contracts/crd/names.ts";
import { nodeName } from "#contracts/crd/schema.ts";
import { limits } from "#contracts/limits.ts";
import { gpuConfigOf, gpuMistakes, gpuTolerations, Toleration } from "./gpu/gpuConfig.ts";
import { parseLabelSelector } from "#kube/api/labelSelector.ts";
import { parseQuantity } from "#kube/api/quantity.ts";
import {
  listed,
  logLevel,
  nonEmpty,
  readEnvironment,
  whole,
  type Environment,
} from "#runtime/program/readEnvironment.ts";
import { AddedAnnotations, AddedLabels, NodeLabels } from "./addedMetadata.ts";
import { messageOf } from "#runtime/errors.ts";

/** Kubernetes quantities in the format of container resources. */
const quantity = (fallback: string) =>
  z
    .string()
    .regex(/^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/)
    .default(fallback);
/** A memory quantity, parsed to bytes. */
const byteQuantity = (fallback: string) =>
  z
    .string()
    .regex(/^[0-9]+(\.[0-9]+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$/)
    .default(fallback)
    .transform((text) => Math.ceil(parseQuantity(text) ?? 0));
/** An empty value means that each process generates a secret. */
const base64Secret = z
  .string()
  .trim()
  .default("")
  .transform((text, context) => {
    if (text === "") return undefined;
    const secret = /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) ? Buffer.from(text, "base64") : Buffer.alloc(0);
    if (secret.length >= 32) return secret;
    context.addIssue(
      "must be at least 32 random bytes in base64, for example from 'openssl rand -base64 32'",
    );
    return z.NEVER;
  });
const labelSelector = z
  .string()
  .default("nvidia.com/gpu.present=true")
  .transform((text, context) => {
    try {
      return parseLabelSelector(text);
    } catch (error) {
      context.addIssue(messageOf(error));
      return z.NEVER;
    }
  });

const addressList = (most: number) =>
  z
    .string()
    .default("")
    .transform(listed)
    .pipe(z.array(z.union([z.ipv4(), z.ipv6()])).max(most));
/** Empty means unset. */
const hostAndPort = z
  .union([
    z.literal("").transform(() => undefined),
    z
      .string()
      .regex(/^[A-Za-z0-9.-]+:\d{1,5}$/, "must be host:port")
      .transform((text) => {
        const [host = "", port] = text.split(":");
        return { host, port: Number(port) };
      }),
  ])
  .optional();

const groupList = z
  .string()
  .default("")
  .transform((text): unknown => listed(text))
  .pipe(
    z
      .array(
        z.coerce
          .number()
          .int()
          .min(1)
          .max(2 ** 31 - 1),
      )
      .max(16),
  );

/** Names of secrets, which have the same maximum length as node names. */
const nameList = z.string().default("").transform(listed).pipe(z.array(nodeName).max(16));

const tolerationList = z
  .string()
  .default("[]")
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue(
        'is not valid JSON. Write a list of tolerations, such as [{"key": "games", "operator": "Exists"}]',
      );
      return z.NEVER;
    }
  })
  .pipe(z.array(Toleration).max(64));

const Variables = z
  .object({
    SESSIONS_NAMESPACE: nonEmpty("joypod-sessions"),
    NODE_AGENT_NAMESPACE: nonEmpty("joypod-nodes"),
    INSTALLATION: installationName,
    GAME_NODE_SELECTOR: labelSelector,
    GPU_RESOURCE_NAME: z.string().trim().default("nvidia.com/gpu"),
    GPU_GAME_RESOURCE_NAME: z.string().trim().default(""),
    GPU_GAME_COUNT: whole(1, 0, 64),
    GPU_STREAMER_RESOURCE_NAME: z.string().trim().default(""),
    GPU_STREAMER_COUNT: whole(0, 0, 64),
    GPU_CLAIM_TEMPLATE: z.string().trim().default(""),
    GPU_SLOTS_PER_NODE: whole(0, 0, 1000),
    GPU_RUNTIME_CLASS: z.string().trim().default(""),
    GPU_DRIVER_CAPABILITIES: z.string().trim().default("graphics,video,compute,utility,display"),
    GPU_GROUPS: groupList,
    GPU_TOLERATIONS: tolerationList,
    COUNT_OTHER_PODS: z.enum(["on", "off"]).default("on"),
    DISPLAY_SERVER: z.enum(["auto", "xvfb", "xwayland"]).default("auto"),
    SOFTWARE_SLOTS: whole(2, 1, 1000),
    GAME_ARCHITECTURE: z
      .string()
      .trim()
      .regex(/^[a-z0-9]*$/, "must be an architecture name as reported by kubelets, such as amd64")
      .default(""),
    MEDIA_PORT_FIRST: whole(20_000, 1024, 65_535),
    MEDIA_PORT_LAST: whole(20_999, 1024, 65_535),
    ANNOUNCE_ADDRESS: addressList(limits.announcedAddresses),
    RELAY: z.enum(["on", "off"]).default("off"),
    RELAY_CONTROL: hostAndPort,
    TURN_SECRET: z.string().trim().default(""),
    NODE_ROOT: z
      .string()
      .regex(/^\/[^:]*[^/:]$/)
      .default("/var/lib/joypod"),
    STREAMER_IMAGE: z.string().trim().min(1),
    GAME_IMAGE: z.string().trim().min(1),
    IMAGE_PULL_POLICY: z.enum(["Always", "IfNotPresent", "Never"]).default("IfNotPresent"),
    IMAGE_PULL_SECRETS: nameList,
    SESSION_POD_PRIORITY_CLASS: z.string().trim().default(""),
    SESSION_RUNTIME_CLASS: z.string().trim().default(""),
    SESSION_POD_LABELS: AddedLabels,
    SESSION_POD_ANNOTATIONS: AddedAnnotations,
    SESSION_POD_NODE_SELECTOR: NodeLabels,
    SESSION_GRACE_SECONDS: whole(120, 15, 900),
    GAME_NETWORK: z.enum(["none", "internet"]).default("none"),
    INTERNET_NAMESERVERS: addressList(3),
    PROBE_IMAGE: z.string().trim().default(""),
    GAME_TMP_SIZE: byteQuantity("256Mi"),
    GAME_SHARED_MEMORY_SIZE: byteQuantity("256Mi"),
    STREAMER_CPU: quantity("250m"),
    STREAMER_MEMORY: quantity("256Mi"),
    STREAMER_MEMORY_LIMIT: byteQuantity("1Gi"),
    TICKET_SECRET: base64Secret,
    START_BITRATE_KBPS: whole(4000, 300, 100_000),
    HEARTBEAT_STALE_SECONDS: whole(limits.node.heartbeatStaleSeconds, 1, 3600),
    NODE_FILL_SECONDS: whole(limits.node.fillDeadlineSeconds, 0, 86_400),
    NODE_LOSS_BRAKE_PERCENT: whole(50, 1, 100),
    PORT_QUARANTINE_SECONDS: whole(60, 0, 3600),
    UNSCHEDULABLE_SECONDS: whole(10, 1, 600),
    SAVE_GIVE_UP_SECONDS: whole(45, 1, 86_400),
    MAX_INPUT_IDLE_SECONDS: whole(0, 0, 86_400),
    WORKERS: whole(8, 1, 64),
    HTTP_PORT: whole(8081, 0, 65_535),
    LEADER_LEASE_NAMESPACE: z.string().trim().min(1).optional(),
    LEASE_SECONDS: whole(6, 4, 120),
    POD_NAMESPACE: nonEmpty("joypod"),
    POD_NAME: nonEmpty("operator"),
    POD_IP: z.union([z.ipv4(), z.ipv6(), z.literal("")]).default(""),
    LOG_LEVEL: logLevel,
  })
  .refine((env) => env.MEDIA_PORT_FIRST <= env.MEDIA_PORT_LAST, "MEDIA_PORT_FIRST is above MEDIA_PORT_LAST")
  .refine(
    (env) => env.RELAY_CONTROL === undefined || env.TURN_SECRET.length >= 16,
    "TURN_SECRET must be the secret of the relay at RELAY_CONTROL",
  )
  .superRefine((env, context) => {
    for (const { variable, message } of gpuMistakes(env))
      context.addIssue({ code: "custom", path: [variable], message });
    if (env.GAME_NETWORK === "none") return;
    const missing = [
      env.INTERNET_NAMESERVERS.length === 0 && "INTERNET_NAMESERVERS",
      env.PROBE_IMAGE === "" && "PROBE_IMAGE",
      env.POD_IP === "" && "POD_IP",
    ];
    for (const name of missing)
      if (name !== false)
        context.addIssue({
          code: "custom",
          path: [name],
          message: "is required if GAME_NETWORK is internet",
        });
  });

/** The architecture of this process in the kubelet's spelling. */
const ownArchitecture = process.arch === "x64" ? "amd64" : process.arch;

/** The operator's configuration. Nothing else reads the environment. */
export type Config = ReturnType<typeof readConfig>;

/** Returns the configuration. Throws one error that names every invalid variable. */
export function readConfig(environment: Environment) {
  const env = readEnvironment(Variables, environment, "operator");
  const gpu = gpuConfigOf(env);
  const tolerations = gpuTolerations(env, env.GPU_TOLERATIONS);
  return {
    sessionsNamespace: env.SESSIONS_NAMESPACE,
    /** Namespace of the agents' heartbeat Leases. */
    nodeAgentNamespace: env.NODE_AGENT_NAMESPACE,
    gameNodeSelector: env.GAME_NODE_SELECTOR,
    /** Selects the game nodes that sessions are placed on. Other game nodes only cache games. */
    sessionNodeSelector: env.SESSION_POD_NODE_SELECTOR,
    /** Undefined if sessions render in software. */
    gpu,
    tolerations,
    softwareSlots: env.SOFTWARE_SLOTS,
    /** Time a new node gets to download its pinned games before it takes sessions anyway. */
    fillDeadlineMs: env.NODE_FILL_SECONDS * 1000,
    /** Distinguishes this installation's objects from those of others in the cluster. */
    installation: { name: env.INSTALLATION, sessionsNamespace: env.SESSIONS_NAMESPACE },
    /**
     * Also off if session pods have a priority class: they may preempt other pods, and only the scheduler
     * knows which.
     */
    countsOtherPods: env.COUNT_OTHER_PODS === "on" && env.SESSION_POD_PRIORITY_CLASS === "",
    /** Resources that a session's pod requests in addition to its game. */
    podOverhead: {
      cpuMillicores: Math.ceil((parseQuantity(env.STREAMER_CPU) ?? 0) * 1000),
      memoryBytes: Math.ceil(parseQuantity(env.STREAMER_MEMORY) ?? 0),
    },
    /** Required architecture of game nodes. */
    architecture: env.GAME_ARCHITECTURE === "" ? ownArchitecture : env.GAME_ARCHITECTURE,
    mediaPorts: { first: env.MEDIA_PORT_FIRST, last: env.MEDIA_PORT_LAST },
    /** Addresses of game nodes announced to browsers before those that the nodes report. */
    announceAddresses: env.ANNOUNCE_ADDRESS,
    /** Whether players have a relay, including one that the chart does not run. */
    hasRelay: env.RELAY === "on" || env.RELAY_CONTROL !== undefined,
    /** Control address of the relays. Undefined if the chart runs none. */
    relay: env.RELAY_CONTROL === undefined ? undefined : { ...env.RELAY_CONTROL, secret: env.TURN_SECRET },
    sessionPod: {
      nodeRoot: env.NODE_ROOT,
      streamerImage: env.STREAMER_IMAGE,
      gameImage: env.GAME_IMAGE,
      imagePullPolicy: env.IMAGE_PULL_POLICY,
      /** Names of secrets of the sessions namespace. */
      imagePullSecrets: env.IMAGE_PULL_SECRETS,
      priorityClass: env.SESSION_POD_PRIORITY_CLASS === "" ? undefined : env.SESSION_POD_PRIORITY_CLASS,
      runtimeClass:
        gpu?.runtimeClass ?? (env.SESSION_RUNTIME_CLASS === "" ? undefined : env.SESSION_RUNTIME_CLASS),
      gpu,
      tolerations,
      /** Additional labels. None of them is reserved for Joypod. */
      labels: env.SESSION_POD_LABELS,
      annotations: env.SESSION_POD_ANNOTATIONS,
      nodeSelector: env.SESSION_POD_NODE_SELECTOR,
      displayServer: env.DISPLAY_SERVER,
      graceSeconds: env.SESSION_GRACE_SECONDS,
      streamer: {
        cpu: env.STREAMER_CPU,
        memory: env.STREAMER_MEMORY,
        memoryLimitBytes: env.STREAMER_MEMORY_LIMIT,
      },
      /** Sizes of the game's memory volumes, which count towards its memory. */
      game: { tmpBytes: env.GAME_TMP_SIZE, sharedMemoryBytes: env.GAME_SHARED_MEMORY_SIZE },
      startBitrateKbps: env.START_BITRATE_KBPS,
      /** Nameservers of sessions with internet access, because their games cannot reach the cluster's DNS. */
      nameservers: env.INTERNET_NAMESERVERS,
    },
    /**
     * Settings of the probe that checks enforcement of NetworkPolicies. Undefined if no game gets internet
     * access.
     */
    networkProbe:
      env.GAME_NETWORK === "none"
        ? undefined
        : {
            image: env.PROBE_IMAGE,
            imagePullPolicy: env.IMAGE_PULL_POLICY,
            imagePullSecrets: env.IMAGE_PULL_SECRETS,
            gameNodeSelector: env.GAME_NODE_SELECTOR,
            tolerations,
            target: { host: env.POD_IP, port: env.HTTP_PORT },
          },
    /** Maximum time of a session without input, whatever keepalives arrive; undefined for no limit. */
    maxInputIdleMs: env.MAX_INPUT_IDLE_SECONDS === 0 ? undefined : env.MAX_INPUT_IDLE_SECONDS * 1000,
    /** Share of silent game nodes, in percent, above which none is declared lost. */
    nodeLossBrakePercent: env.NODE_LOSS_BRAKE_PERCENT,
    timing: {
      heartbeatStaleMs: env.HEARTBEAT_STALE_SECONDS * 1000,
      portQuarantineMs: env.PORT_QUARANTINE_SECONDS * 1000,
      unschedulableMs: env.UNSCHEDULABLE_SECONDS * 1000,
      saveGiveUpMs: env.SAVE_GIVE_UP_SECONDS * 1000,
    },
    /**
     * Secret that signs the operator's tickets to streamers. Undefined if each process generates a secret.
     */
    ticketSecret: env.TICKET_SECRET,
    workers: env.WORKERS,
    httpPort: env.HTTP_PORT,
    leaderLease: {
      namespace: env.LEADER_LEASE_NAMESPACE ?? env.POD_NAMESPACE,
      name: leaderLeases.operator,
      identity: env.POD_NAME,
      leaseDurationMs: env.LEASE_SECONDS * 1000,
      renewDeadlineMs: env.LEASE_SECONDS * 700,
      retryPeriodMs: env.LEASE_SECONDS * 150,
    },
    logLevel: env.LOG_LEVEL,
  };
}

export type SessionPodConfig = Config["sessionPod"];
export type ProbeConfig = NonNullable<Config["networkProbe"]>;
export type Timing = Config["timing"];
