import { z } from "zod";
import { socketNames } from "#contracts/nodeLayout.ts";
import { limits } from "#contracts/limits.ts";
import { signalPort } from "#contracts/stream.ts";
import { VideoCodec } from "#contracts/videoCodec.ts";
import {
  QualityPreset,
  qualityWithin,
  type QualityBounds,
  type StreamQuality,
} from "#contracts/streamQuality.ts";
import { TicketPublicKey } from "#contracts/streamTicket.ts";
import { gameReportFile } from "#contracts/termination.ts";
import { listed, logLevel, readEnvironment, type Environment } from "#runtime/program/readEnvironment.ts";

const port = z.coerce.number().int().min(1).max(65_535);
/** A variable that the pod sets to an empty text counts as absent. */
const address = z.union([z.ipv4(), z.ipv6(), z.literal("").transform(() => undefined)]).optional();
/** One, or several separated by commas, the most likely first. */
const addresses = z
  .string()
  .default("")
  .transform((list) => [...new Set(listed(list))])
  .pipe(z.array(z.union([z.ipv4(), z.ipv6()])).max(limits.announcedAddresses));
/** Encoders need even sizes. */
const size = z.coerce.number().int().min(160).max(4_096).multipleOf(2);
const fps = z.coerce.number().int().min(10).max(120);
/** The picture may be smaller than any display. */
const pictureLength = z.coerce.number().int().min(2).max(4_096).optional();
const kbps = z.coerce.number().int().min(300).max(100_000);
const codecs = z
  .string()
  .transform((list) => list.split(",").map((codec) => codec.trim()))
  .pipe(z.array(VideoCodec).min(1));

/** The settings of what makes the picture, for a session and for a test without one. */
const PictureVariables = z.object({
  DISPLAY: z
    .string()
    .regex(/^:\d{1,5}$/, "must look like :99")
    .default(":99"),
  WIDTH: size.default(1280),
  HEIGHT: size.default(720),
  FPS: fps.default(60),
  CODECS: codecs.default([...VideoCodec.options]),
  PROFILE: z.enum(["gpu", "software"]).default("software"),
  DISPLAY_SERVER: z.enum(["auto", "xvfb", "xwayland"]).default("auto"),
  RUN_DIR: z.string().startsWith("/").default("/run/session"),
  TERMINATION_LOG: z.string().startsWith("/").default("/dev/termination-log"),
  LOG_LEVEL: logLevel,
  PATH: z.string().default("/usr/local/bin:/usr/bin:/bin"),
  GST_PLUGIN_PATH: z.string().default(""),
  SOFTWARE_GST_REGISTRY: z.string().startsWith("/").optional(),
  NODE_COMPILE_CACHE: z.string().default(""),
});

const Variables = PictureVariables.extend({
  SIGNAL_PORT: port.default(signalPort),
  UDP_PORT: port,
  SESSION_ID: z.string().min(1),
  TICKET_PUBLIC_KEY: z.union([TicketPublicKey, z.literal("none").transform(() => undefined)]),
  OPERATOR_PUBLIC_KEY: TicketPublicKey,
  ANNOUNCE_ADDRESS: addresses,
  HOST_IP: address,
  POD_IP: address,
  MAX_FPS: fps.optional(),
  START_KBPS: kbps.default(4_000),
  MAX_KBPS: kbps.default(8_000),
  QUALITY_PRESET: QualityPreset.default("auto"),
  QUALITY_WIDTH: pictureLength,
  QUALITY_HEIGHT: pictureLength,
  QUALITY_FPS: fps.optional(),
  QUALITY_MAX_KBPS: kbps.optional(),
  GAME_REPORT_DIR: z.string().startsWith("/").default("/run/game"),
  GAMEPAD_SOCKET: z.string().startsWith("/").optional(),
  SAVE_VOLUME: z.string().startsWith("/").optional(),
  SPOOL_DIR: z.string().startsWith("/").optional(),
  SESSION_UID: z.string().min(1).max(64).optional(),
  PACK_DEADLINE_SECONDS: z.coerce.number().int().min(1).max(3_600).default(90),
});

/** Temporary files of the streamer's own programs; in the pod /tmp belongs to this container alone. */
const workDir = "/tmp/joypod-streamer";

/** The configuration in the environment, checked and typed. */
export type Config = ReturnType<typeof readConfig>;

/** What makes the picture where there is no session. */
export type PictureConfig = ReturnType<typeof readPictureConfig>;

/** Where a session's saves are, and how they are packed. */
export interface SavesConfig {
  paths: { saveVolume: string; spool: string; uid: string };
  /** The packer's whole environment. */
  environment: Record<string, string>;
  /** How long the streamer waits for the last pack. */
  packDeadlineMs: number;
}

function savesOf(env: z.infer<typeof Variables>): SavesConfig | undefined {
  const { SAVE_VOLUME, SPOOL_DIR, SESSION_UID, NODE_COMPILE_CACHE, PACK_DEADLINE_SECONDS } = env;
  if (SAVE_VOLUME === undefined && SPOOL_DIR === undefined && SESSION_UID === undefined) return undefined;
  if (SAVE_VOLUME === undefined || SPOOL_DIR === undefined || SESSION_UID === undefined) {
    throw new Error(
      "The streamer would lose the session's saves: set all of SAVE_VOLUME, SPOOL_DIR and SESSION_UID, or none.",
    );
  }
  return {
    paths: { saveVolume: SAVE_VOLUME, spool: SPOOL_DIR, uid: SESSION_UID },
    environment: { SAVE_VOLUME, SPOOL_DIR, SESSION_UID, NODE_COMPILE_CACHE },
    packDeadlineMs: PACK_DEADLINE_SECONDS * 1_000,
  };
}

/** The bounds within which the player chooses, and what holds until they do. */
function qualityOf(env: z.infer<typeof Variables>): { bounds: QualityBounds; quality: StreamQuality } {
  const bounds = {
    width: env.WIDTH,
    height: env.HEIGHT,
    fps: env.FPS,
    maxFps: Math.max(env.FPS, env.MAX_FPS ?? 0),
    maxKbps: env.MAX_KBPS,
  };
  const wish = {
    preset: env.QUALITY_PRESET,
    width: env.QUALITY_WIDTH,
    height: env.QUALITY_HEIGHT,
    fps: env.QUALITY_FPS,
    maxKbps: env.QUALITY_MAX_KBPS,
  };
  return { bounds, quality: qualityWithin(wish, bounds) };
}

/**
 * The image's registry of plugins was made without a GPU's driver and would hide a GPU's encoders: for those
 * each pod makes its own. In software the image's is taken as it is: GStreamer would otherwise look again at
 * the plugins whose devices have changed since, which initialises the drivers.
 */
function encoderEnvironmentsOf(env: z.infer<typeof PictureVariables>, shared: Record<string, string>) {
  const own = {
    ...shared,
    GST_PLUGIN_PATH: env.GST_PLUGIN_PATH,
    GST_REGISTRY: `${workDir}/gstreamer-registry.bin`,
  };
  const image =
    env.SOFTWARE_GST_REGISTRY === undefined
      ? {}
      : { GST_REGISTRY: env.SOFTWARE_GST_REGISTRY, GST_REGISTRY_UPDATE: "no" };
  return { gpu: own, software: { ...own, ...image } };
}

function pictureOf(env: z.infer<typeof PictureVariables>) {
  const soundSocket = `${env.RUN_DIR}/${socketNames.sound}`;
  const childEnvironment = {
    PATH: env.PATH,
    DISPLAY: env.DISPLAY,
    HOME: workDir,
    XDG_RUNTIME_DIR: workDir,
    XDG_CACHE_HOME: workDir,
    XDG_CONFIG_HOME: workDir,
    DBUS_SESSION_BUS_ADDRESS: "disabled:",
    PULSE_SERVER: `unix:${soundSocket}`,
    NODE_COMPILE_CACHE: env.NODE_COMPILE_CACHE,
    UV_THREADPOOL_SIZE: "8",
    LANG: "C.UTF-8",
  };
  return {
    display: env.DISPLAY,
    /** The size that the display begins with, which is the largest size of the picture. */
    width: env.WIDTH,
    height: env.HEIGHT,
    codecs: env.CODECS,
    profile: env.PROFILE,
    displayServer: env.DISPLAY_SERVER,
    runDir: env.RUN_DIR,
    soundSocket,
    terminationLog: env.TERMINATION_LOG,
    logLevel: env.LOG_LEVEL,
    workDir,
    /**
     * The environment of the X server, the sound server and whatever captures and encodes, which get no other
     * variable of the pod.
     */
    childEnvironment,
    /** The same for what encodes, and what GStreamer needs. */
    encoderEnvironments: encoderEnvironmentsOf(env, childEnvironment),
  };
}

/**
 * Returns the configuration of a test that has no session; throws one error that names every variable that is
 * wrong.
 */
export function readPictureConfig(environment: Environment) {
  const env = readEnvironment(PictureVariables, environment, "node test");
  return { ...pictureOf(env), framesPerSecond: env.FPS };
}

/** Returns the configuration; throws one error that names every variable that is wrong. */
export function readConfig(environment: Environment) {
  const env = readEnvironment(Variables, environment, "streamer");
  const ownAddress = env.HOST_IP ?? env.POD_IP;
  const announceAddresses =
    env.ANNOUNCE_ADDRESS.length > 0 || ownAddress === undefined ? env.ANNOUNCE_ADDRESS : [ownAddress];
  if (announceAddresses.length === 0) {
    throw new Error(
      "The streamer does not know where browsers reach it: set ANNOUNCE_ADDRESS, HOST_IP or POD_IP.",
    );
  }
  const saves = savesOf(env);
  return {
    ...pictureOf(env),
    ...qualityOf(env),
    signalPort: env.SIGNAL_PORT,
    udpPort: env.UDP_PORT,
    /**
     * Whose tickets are taken: viewers' are signed by the API's key, unless the session is of a version
     * without tickets.
     */
    tickets: {
      sessionId: env.SESSION_ID,
      viewerKey: env.TICKET_PUBLIC_KEY,
      operatorKey: env.OPERATOR_PUBLIC_KEY,
    },
    announceAddresses,
    startKbps: Math.min(env.START_KBPS, env.MAX_KBPS),
    gameReportPath: `${env.GAME_REPORT_DIR}/${gameReportFile}`,
    gamepadSocket: env.GAMEPAD_SOCKET ?? `${env.RUN_DIR}/${socketNames.gamepad}`,
    /** Undefined where saves are not kept. */
    saves,
  };
}
