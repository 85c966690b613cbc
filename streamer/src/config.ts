import { z } from "zod";
import { VideoCodec } from "#contracts/stream.ts";
import { readEnvironment, type Environment } from "#runtime/readEnvironment.ts";

const port = z.coerce.number().int().min(1).max(65_535);
/** An address variable that the pod left empty counts as absent. */
const address = z.union([z.ipv4(), z.ipv6(), z.literal("").transform(() => undefined)]).optional();
/** Encoders want even sizes. */
const size = z.coerce.number().int().min(160).max(4_096).multipleOf(2);
const kbps = z.coerce.number().int().min(300).max(100_000);
const codecs = z.string()
  .transform((list) => list.split(",").map((codec) => codec.trim()))
  .pipe(z.array(VideoCodec).min(1));

const Variables = z.object({
  DISPLAY: z.string().regex(/^:\d{1,5}$/, "must look like :99").default(":99"),
  SIGNAL_PORT: port.default(8080),
  UDP_PORT: port,
  SESSION_ID: z.string().min(1).optional(),
  ANNOUNCE_ADDRESS: address,
  HOST_IP: address,
  POD_IP: address,
  WIDTH: size.default(1280),
  HEIGHT: size.default(720),
  FPS: z.coerce.number().int().min(10).max(120).default(60),
  START_KBPS: kbps.default(4_000),
  MAX_KBPS: kbps.default(8_000),
  CODECS: codecs.default([...VideoCodec.options]),
  PROFILE: z.enum(["gpu", "software"]).default("software"),
  RUN_DIR: z.string().startsWith("/").default("/run/session"),
  GAME_REPORT_DIR: z.string().startsWith("/").default("/run/game"),
  TERMINATION_LOG: z.string().startsWith("/").default("/dev/termination-log"),
  GAMEPAD_SOCKET: z.string().startsWith("/").optional(),
  LOG_LEVEL: z.enum(["debug", "info", "warn", "error"]).default("info"),
  PATH: z.string().default("/usr/local/bin:/usr/bin:/bin"),
  GST_PLUGIN_PATH: z.string().default(""),
  SOFTWARE_GST_REGISTRY: z.string().startsWith("/").optional(),
  NODE_COMPILE_CACHE: z.string().default(""),
  SAVE_VOLUME: z.string().startsWith("/").optional(),
  SPOOL_DIR: z.string().startsWith("/").optional(),
  SESSION_UID: z.string().min(1).max(64).optional(),
  PACK_DEADLINE_SECONDS: z.coerce.number().int().min(1).max(3_600).default(90),
});

/** Scratch files of the streamer's own programs; in the pod /tmp is this container's alone. */
const workDir = "/tmp/joypod-streamer";

/** Everything the environment says, checked and typed. */
export type Config = ReturnType<typeof readConfig>;

/** Where a session's saves are, and where they go. */
export interface SavesConfig {
  place: { saveVolume: string; spool: string; uid: string };
  /** The packer's whole environment. */
  environment: Record<string, string>;
  /** How long the last pack is waited for. */
  packDeadlineMs: number;
}

function savesOf(env: z.infer<typeof Variables>): SavesConfig | undefined {
  const { SAVE_VOLUME, SPOOL_DIR, SESSION_UID, NODE_COMPILE_CACHE, PACK_DEADLINE_SECONDS } = env;
  if (SAVE_VOLUME === undefined && SPOOL_DIR === undefined && SESSION_UID === undefined) return undefined;
  if (SAVE_VOLUME === undefined || SPOOL_DIR === undefined || SESSION_UID === undefined) {
    throw new Error("The streamer would lose the session's saves: set all of SAVE_VOLUME, SPOOL_DIR and SESSION_UID, or none.");
  }
  return {
    place: { saveVolume: SAVE_VOLUME, spool: SPOOL_DIR, uid: SESSION_UID },
    environment: { SAVE_VOLUME, SPOOL_DIR, SESSION_UID, NODE_COMPILE_CACHE }, packDeadlineMs: PACK_DEADLINE_SECONDS * 1_000,
  };
}

/** Returns the configuration; throws one error that names every variable that is wrong. */
export function readConfig(environment: Environment) {
  const env = readEnvironment(Variables, environment, "streamer");
  const announceAddress = env.ANNOUNCE_ADDRESS ?? env.HOST_IP ?? env.POD_IP;
  if (announceAddress === undefined) {
    throw new Error("The streamer does not know where browsers reach it: set ANNOUNCE_ADDRESS, HOST_IP or POD_IP.");
  }
  const saves = savesOf(env);
  const soundSocket = `${env.RUN_DIR}/pulse.sock`;
  return {
    display: env.DISPLAY,
    width: env.WIDTH,
    height: env.HEIGHT,
    fps: env.FPS,
    signalPort: env.SIGNAL_PORT,
    udpPort: env.UDP_PORT,
    sessionId: env.SESSION_ID,
    announceAddress,
    startKbps: Math.min(env.START_KBPS, env.MAX_KBPS),
    maxKbps: env.MAX_KBPS,
    codecs: env.CODECS,
    profile: env.PROFILE,
    soundSocket,
    gameReportPath: `${env.GAME_REPORT_DIR}/game.json`,
    gamepadSocket: env.GAMEPAD_SOCKET ?? `${env.RUN_DIR}/pad0`,
    terminationLog: env.TERMINATION_LOG,
    logLevel: env.LOG_LEVEL,
    workDir,
    /** What the packer is told; undefined where nobody's saves are kept. */
    saves,
    /** What the X server, the sound server and the media child see: nothing of the pod's own environment but this. */
    childEnvironment: {
      PATH: env.PATH,
      DISPLAY: env.DISPLAY,
      HOME: workDir,
      XDG_RUNTIME_DIR: workDir,
      XDG_CACHE_HOME: workDir,
      XDG_CONFIG_HOME: workDir,
      DBUS_SESSION_BUS_ADDRESS: "disabled:",
      PULSE_SERVER: `unix:${soundSocket}`,
      // The image's registry, made where no GPU driver was, would hide the GPU encoders: for them each pod makes its own.
      GST_REGISTRY: (env.PROFILE === "software" ? env.SOFTWARE_GST_REGISTRY : undefined) ?? `${workDir}/gstreamer-registry.bin`,
      GST_PLUGIN_PATH: env.GST_PLUGIN_PATH,
      NODE_COMPILE_CACHE: env.NODE_COMPILE_CACHE,
      UV_THREADPOOL_SIZE: "8",
      LANG: "C.UTF-8",
    },
  };
}
