import { createHash } from "node:crypto";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { limits } from "#contracts/limits.ts";
import { isVerification, memoryLimitOf } from "#contracts/crd/gameSessionSpec.ts";
import { fromStreamSpec, type StreamSpec } from "#contracts/crd/streamSpec.ts";
import { finalizers, labels } from "#contracts/crd/names.ts";
import {
  pacedDrawing,
  containerNames,
  contentDirectory,
  gameObservationsFile,
  podPaths,
  podVolumes,
  sessionDirectory,
  socketNames,
} from "#contracts/nodeLayout.ts";
import { signalPort } from "#contracts/stream.ts";
import type { Pod } from "#kube/api/builtin.ts";
import { ownedBy, type Draft, type Stored } from "#kube/api/object.ts";
import type { SessionPodConfig } from "../../config.ts";
import { devicesOf, resourceClaimsOf } from "../../gpu/gpuConfig.ts";
import {
  containerSecurity,
  inMemory,
  pinTo,
  podSecurityOf,
  pullSecretsOf,
  sessionPodLabels,
} from "../../sessionPods/podSpec.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Container = PodSpec["containers"][number];
type EnvVar = NonNullable<Container["env"]>[number];

/** Names of the pod's volumes, shared with other programs or used only by its containers. */
const volumeNames = {
  ...podVolumes,
  display: "x11",
  run: "run",
  gameReport: "game-report",
  streamerTmp: "streamer-tmp",
  gameTmp: "game-tmp",
  gameSharedMemory: "game-shm",
  game: "game",
} as const;

const display = ":99";
/** Seconds of the pod's grace period that are reserved for the streamer's exit. */
const exitSeconds = 6;
/** Seconds that the last pack gets at least, however long the game may take to end. */
const minPackSeconds = 5;

/**
 * Asks the Cluster Autoscaler and Karpenter not to remove a node with a session. Each honors only its own
 * annotation.
 */
const doNotDisruptAnnotations = {
  "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
  "karpenter.sh/do-not-disrupt": "true",
} as const;

/**
 * The placement of the session's pod, decided and written to the session's status before the pod is created.
 */
export interface PodPlace {
  nodeName: string;
  mediaPort: number;
  /** Announced to browsers, most likely to work first. */
  addresses: readonly string[];
  /** Public key that verifies the operator's tickets to the pod's streamer. */
  operatorPublicKey: string;
}

/** Returns the pod of a session: the streamer as a native sidecar and the game. Neither holds a secret. */
export function buildPod(
  session: Stored<GameSession>,
  place: PodPlace,
  config: SessionPodConfig,
): Draft<Pod> {
  const { name, namespace } = session.metadata;
  return {
    metadata: {
      name,
      namespace,
      labels: { ...config.labels, ...podLabels(session) },
      finalizers: [finalizers.usage],
      ownerReferences: [ownedBy(session)],
      annotations: { ...config.annotations, ...doNotDisruptAnnotations },
    },
    spec: {
      restartPolicy: "Never",
      // The same in every session: programs that find another machine's name in a saved lock do not start.
      hostname: "joypod",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      ...pullSecretsOf(config),
      terminationGracePeriodSeconds: gracePeriodOf(session, config),
      ...(config.priorityClass === undefined ? {} : { priorityClassName: config.priorityClass }),
      ...(config.runtimeClass === undefined ? {} : { runtimeClassName: config.runtimeClass }),
      securityContext: podSecurityOf(config.gpu),
      ...(session.spec.network === "Internet" ? nameResolution(config) : {}),
      affinity: pinTo(place.nodeName),
      ...(Object.keys(config.nodeSelector).length === 0 ? {} : { nodeSelector: config.nodeSelector }),
      tolerations: tolerations(config),
      ...resourceClaimsOf(config.gpu),
      volumes: volumes(session, config),
      initContainers: [streamerContainer(session, place, config)],
      containers: [gameContainer(session, place, config)],
    },
  };
}

/** Returns the seconds of the pod's grace period that are not for the last pack. */
function reservedSeconds({ stopGraceSeconds }: GameSession["spec"]): number {
  return limits.gameSession.closeSeconds + stopGraceSeconds + exitSeconds;
}

/** Returns the pod's grace period in seconds: as configured, or longer if the game would take most of it. */
function gracePeriodOf({ spec }: Pick<GameSession, "spec">, { graceSeconds }: SessionPodConfig): number {
  return Math.max(graceSeconds, reservedSeconds(spec) + minPackSeconds);
}

function podLabels({ metadata, spec }: GameSession): Record<string, string> {
  return {
    ...sessionPodLabels(spec.network),
    [labels.gameSession]: metadata.name,
    [labels.game]: spec.gameCacheRef.name,
  };
}

/** Uses the configured nameservers, because the game must not reach the cluster's DNS. */
function nameResolution({ nameservers }: SessionPodConfig): Pick<PodSpec, "dnsPolicy" | "dnsConfig"> {
  return { dnsPolicy: "None", dnsConfig: { nameservers: [...nameservers] } };
}

/**
 * The cluster's node controller considers only the kubelet. A pod whose kubelet is silent stays until the
 * operator declares its node lost.
 */
function tolerations(config: SessionPodConfig): NonNullable<PodSpec["tolerations"]> {
  const unreachable = ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"].map((key) => ({
    key,
    operator: "Exists",
    effect: "NoExecute",
  }));
  return [...config.tolerations, ...unreachable];
}

/**
 * Everything the game can write to is in memory: the kernel limits its size, and it never reaches the node's
 * disk.
 */
function volumes(
  { metadata, spec }: GameSession,
  { nodeRoot, game }: SessionPodConfig,
): NonNullable<PodSpec["volumes"]> {
  // With type Directory, a path that the node agent has not prepared fails the pod instead of being created.
  const onNode = (name: string, path: string) => ({ name, hostPath: { path, type: "Directory" } });
  return [
    inMemory(volumeNames.display, "1Mi"),
    inMemory(volumeNames.run, "16Mi"),
    inMemory(volumeNames.gameReport, "1Mi"),
    inMemory(volumeNames.streamerTmp, "128Mi"),
    inMemory(volumeNames.gameTmp, String(game.tmpBytes)),
    inMemory(volumeNames.gameSharedMemory, String(game.sharedMemoryBytes)),
    inMemory(volumeNames.saves, String(spec.saveVolumeBytes)),
    onNode(volumeNames.game, contentDirectory(nodeRoot, spec.contentDigest)),
    onNode(volumeNames.spool, sessionDirectory(nodeRoot, metadata.name)),
  ];
}

function streamerContainer(
  { metadata, spec }: Stored<GameSession>,
  place: PodPlace,
  config: SessionPodConfig,
): Container {
  const { cpu, memory, memoryLimitBytes } = config.streamer;
  const gpu = devicesOf(containerNames.streamer, config.gpu, spec.resources.gpuShare);
  return {
    name: containerNames.streamer,
    image: config.streamerImage,
    imagePullPolicy: config.imagePullPolicy,
    restartPolicy: "Always",
    env: [
      fromField("HOST_IP", "status.hostIP"),
      fromField("POD_IP", "status.podIP"),
      ...plain({
        DISPLAY: display,
        SIGNAL_PORT: signalPort,
        UDP_PORT: place.mediaPort,
        SESSION_ID: metadata.name,
        // Pods get public keys only: they can verify tickets but not sign them.
        TICKET_PUBLIC_KEY: spec.ticketPublicKey ?? "none",
        OPERATOR_PUBLIC_KEY: place.operatorPublicKey,
        ANNOUNCE_ADDRESS: place.addresses.join(","),
        ...streamVariables(spec.stream, config.startBitrateKbps),
        PROFILE: spec.profile.toLowerCase(),
        DISPLAY_SERVER: config.displayServer,
        RUN_DIR: podPaths.run,
        GAME_REPORT_DIR: podPaths.gameReport,
        SAVE_VOLUME: podPaths.session,
        SPOOL_DIR: podPaths.spool,
        SESSION_UID: metadata.uid,
        PACK_DEADLINE_SECONDS: gracePeriodOf({ spec }, config) - reservedSeconds(spec),
        TERMINATION_LOG: "/dev/termination-log",
        ...(isVerification(spec) ? { VERIFICATION: "true" } : {}),
        ...gpu.env,
      }),
    ],
    ports: [{ name: "signal", containerPort: signalPort, protocol: "TCP" }],
    // A single failed probe on a busy node must not make the stream unavailable to the API.
    readinessProbe: {
      httpGet: { path: "/readyz", port: "signal" },
      periodSeconds: 1,
      timeoutSeconds: 2,
      failureThreshold: 5,
    },
    securityContext: containerSecurity,
    // A memory volume is charged to the container that wrote to it first. For the saves that may be either
    // container.
    resources: {
      requests: { cpu, memory },
      limits: { memory: String(memoryLimitBytes + spec.saveVolumeBytes), ...gpu.limits },
      ...gpu.claims,
    },
    volumeMounts: [
      { name: volumeNames.display, mountPath: "/tmp/.X11-unix" },
      { name: volumeNames.run, mountPath: podPaths.run },
      { name: volumeNames.gameReport, mountPath: podPaths.gameReport, readOnly: true },
      { name: volumeNames.saves, mountPath: podPaths.session },
      { name: volumeNames.spool, mountPath: podPaths.spool },
      { name: volumeNames.streamerTmp, mountPath: "/tmp" },
    ],
  };
}

/** Returns the streamer's variables for the limits of the stream and its initial quality. */
function streamVariables(stream: StreamSpec, defaultStartKbps: number): Record<string, string | number> {
  const { bounds, quality, startKbps = defaultStartKbps } = fromStreamSpec(stream);
  return {
    WIDTH: bounds.width,
    HEIGHT: bounds.height,
    FPS: bounds.fps,
    MAX_FPS: bounds.maxFps,
    START_KBPS: Math.min(startKbps, bounds.maxKbps),
    MAX_KBPS: bounds.maxKbps,
    CODECS: stream.codecs.join(",").toLowerCase(),
    QUALITY_PRESET: quality.preset,
    QUALITY_WIDTH: quality.width,
    QUALITY_HEIGHT: quality.height,
    QUALITY_FPS: quality.fps,
    QUALITY_MAX_KBPS: quality.maxKbps,
  };
}

function gameContainer({ spec }: GameSession, { mediaPort }: PodPlace, config: SessionPodConfig): Container {
  const memory = String(spec.resources.memoryBytes + spec.saveVolumeBytes);
  const memoryLimit = String(memoryLimitOf(spec.resources) + spec.saveVolumeBytes);
  const gpu = devicesOf(containerNames.game, config.gpu, spec.resources.gpuShare);
  return {
    name: containerNames.game,
    image: config.gameImage,
    imagePullPolicy: config.imagePullPolicy,
    args: [`${podPaths.game}/${spec.launcher}`],
    // The kubelet's default file is on the node's disk, without a size limit. The game cannot reach it in a
    // folder owned by root.
    terminationMessagePath: "/root/termination-log",
    // The streamer binds the port, but the kubelet maps host ports of regular containers only.
    ports: [{ name: "media", containerPort: mediaPort, hostPort: mediaPort, protocol: "UDP" }],
    env: plain({
      ...gameEnvironment,
      JOYPOD_MACHINE_ID: machineIdOf(spec),
      GAME_GRACE_SECONDS: spec.stopGraceSeconds,
      ENGINE_DIR: `${podPaths.game}/${spec.engineDir}`,
      ...(spec.profile === "Software" ? softwareRendering : {}),
      // Tells the supervisor to let the game open IP sockets.
      ...(spec.network === "Internet" ? { GAME_NETWORK: "internet" } : {}),
      ...(isVerification(spec) ? { JOYPOD_OBSERVATIONS: observationsPath } : {}),
      ...gpu.env,
    }),
    securityContext: containerSecurity,
    resources: {
      requests: { cpu: `${spec.resources.cpuMillicores}m`, memory },
      limits: { memory: memoryLimit, ...gpu.limits },
      ...gpu.claims,
    },
    volumeMounts: [
      { name: volumeNames.display, mountPath: "/tmp/.X11-unix", readOnly: true },
      // Connecting to a socket needs no write permission on its directory.
      { name: volumeNames.run, mountPath: podPaths.run, readOnly: true },
      { name: volumeNames.gameReport, mountPath: podPaths.gameReport },
      { name: volumeNames.gameTmp, mountPath: "/tmp" },
      { name: volumeNames.game, mountPath: podPaths.game, readOnly: true },
      { name: volumeNames.saves, mountPath: podPaths.session },
      // The runtime's has 64 MiB, which the streamer would share.
      { name: volumeNames.gameSharedMemory, mountPath: "/dev/shm" },
    ],
  };
}

/** Where the shim notes what the game was refused. */
const observationsPath = `${podPaths.gameReport}/${gameObservationsFile}`;

/** Written by the supervisor. Everything there is the player's alone. */
const runtimeFolder = "/tmp/runtime";
const cacheFolder = "/tmp/cache";

/**
 * Variables of every game. None selects a driver: libraries find display, sound and gamepad themselves.
 */
export const gameEnvironment = {
  DISPLAY: display,
  PULSE_SERVER: `unix:${podPaths.run}/${socketNames.sound}`,
  HOME: podPaths.saves,
  // The supervisor starts the game when this directory exists. The packer creates it, complete, with one
  // rename.
  AWAIT_DIRECTORY: podPaths.saves,
  RENPY_PATH_TO_SAVES: `${podPaths.saves}/renpy`,
  XDG_RUNTIME_DIR: runtimeFolder,
  // Caches, unpacked libraries of single-file programs and cookies must not end up in the saves.
  XDG_CACHE_HOME: cacheFolder,
  CUDA_CACHE_PATH: `${cacheFolder}/cuda`,
  DOTNET_BUNDLE_EXTRACT_BASE_DIR: `${cacheFolder}/dotnet`,
  PULSE_COOKIE: `${runtimeFolder}/pulse-cookie`,
  ICEAUTHORITY: `${runtimeFolder}/ICEauthority`,
  // Java's windows otherwise wait for decorations that this window manager never draws.
  _JAVA_AWT_WM_NONREPARENTING: "1",
  RUN_DIR: podPaths.run,
  GAME_REPORT_DIR: podPaths.gameReport,
  JOYPOD_PADS: `${podPaths.run}/${socketNames.gamepads}`,
  LD_PRELOAD: "/usr/local/lib/joypod/shim.so",
};

/**
 * Returns the content of the game's /etc/machine-id. It stays the same for one player of one game, because
 * engines encrypt settings with it, and tells nothing about other players or games.
 */
function machineIdOf({ userId, gameCacheRef }: GameSession["spec"]): string {
  return createHash("sha256")
    .update(JSON.stringify(["machine-id", userId, gameCacheRef.name]))
    .digest("hex")
    .slice(0, 32);
}

/** The software renderer gets one thread. More threads would take CPU time from the encoder. */
export const softwareRendering = { LIBGL_ALWAYS_SOFTWARE: "1", LP_NUM_THREADS: "1", ...pacedDrawing };

function plain(values: Record<string, string | number>): EnvVar[] {
  return Object.entries(values).map(([name, value]) => ({ name, value: String(value) }));
}

function fromField(name: string, fieldPath: string): EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}
