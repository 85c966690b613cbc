import { z } from "zod";
import { gameObservationsFile, socketNames } from "#contracts/nodeLayout.ts";
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
/** An empty value counts as absent. */
const address = z.union([z.ipv4(), z.ipv6(), z.literal("").transform(() => undefined)]).optional();
/** A comma-separated list, most likely address first. */
const addresses = z
  .string()
  .default("")
  .transform((list) => [...new Set(listed(list))])
  .pipe(z.array(z.union([z.ipv4(), z.ipv6()])).max(limits.announcedAddresses));
/** Encoders require even sizes. */
const size = z.coerce.number().int().min(160).max(4_096).multipleOf(2);
const fps = z.coerce.number().int().min(10).max(120);
/** The picture may be smaller than any display. */
const pictureLength = z.coerce.number().int().min(2).max(4_096).optional();
const kbps = z.coerce.number().int().min(300).max(100_000);
const codecs = z
  .string()
  .transform((list) => list.split(",").map((codec) => codec.trim()))
  .pipe(z.array(VideoCodec).min(1));

/** Variables of display and encoders, for a session and for the node test. */
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
  GAMEPAD_DIR: z.string().startsWith("/").optional(),
  SAVE_VOLUME: z.string().startsWith("/").optional(),
  SPOOL_DIR: z.string().startsWith("/").optional(),
  SESSION_UID: z.string().min(1).max(64).optional(),
  VERIFICATION: z.literal("true").optional(),
  PACK_DEADLINE_SECONDS: z.coerce.number().int().min(1).max(3_600).default(90),
});

/** Temporary files of the streamer's child processes. In the pod, /tmp belongs to this container alone. */
const workDir = "/tmp/joypod-streamer";
/** What a session that verifies a version has observed, for the packer. */
const observationsFile = `${workDir}/observations.json`;

/** Validated configuration of a session's streamer. */
export type Config = ReturnType<typeof readConfig>;

/** Validated configuration of the node test, which has no session. */
export type PictureConfig = ReturnType<typeof readPictureConfig>;

/** Location of a session's saves and how they are packed. */
export interface SavesConfig {
  paths: { saveVolume: string; spool: string; uid: string };
  /** Complete environment of the packer. */
  environment: Record<string, string>;
  /** How long the streamer waits for the last pack. */
  packDeadlineMs: number;
}

function readSaves(env: z.infer<typeof Variables>): SavesConfig | undefined {
  const { SAVE_VOLUME, SPOOL_DIR, SESSION_UID, GAME_REPORT_DIR, NODE_COMPILE_CACHE, PACK_DEADLINE_SECONDS } =
    env;
  if (SAVE_VOLUME === undefined && SPOOL_DIR === undefined && SESSION_UID === undefined) return undefined;
  if (SAVE_VOLUME === undefined || SPOOL_DIR === undefined || SESSION_UID === undefined) {
    throw new Error(
      "Set all of SAVE_VOLUME, SPOOL_DIR and SESSION_UID, or none. With only some of them the session's saves would be lost.",
    );
  }
  return {
    paths: { saveVolume: SAVE_VOLUME, spool: SPOOL_DIR, uid: SESSION_UID },
    environment: {
      SAVE_VOLUME,
      SPOOL_DIR,
      SESSION_UID,
      GAME_REPORT_DIR,
      NODE_COMPILE_CACHE,
      ...(env.VERIFICATION === undefined ? {} : { OBSERVATIONS_FILE: observationsFile }),
    },
    packDeadlineMs: PACK_DEADLINE_SECONDS * 1_000,
  };
}

/** Returns the bounds of the player's choice and the initial quality. */
function readQuality(env: z.infer<typeof Variables>): { bounds: QualityBounds; quality: StreamQuality } {
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
 * Returns the environments of processes that encode. The image's plugin registry was built without a GPU
 * driver and would hide GPU encoders, so each GPU pod builds a registry. In software the image's registry is
 * used without updates: otherwise GStreamer would rescan the plugins whose devices have changed, which
 * initialises the drivers.
 */
function buildEncoderEnvironments(env: z.infer<typeof PictureVariables>, shared: Record<string, string>) {
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

function readPicture(env: z.infer<typeof PictureVariables>) {
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
    /** Initial size of the display, which is the largest size of the picture. */
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
    /** Complete environment of the X server, the sound server, and the capture and encoding processes. */
    childEnvironment,
    /** Environments of processes that encode, including GStreamer's variables. */
    encoderEnvironments: buildEncoderEnvironments(env, childEnvironment),
  };
}

/**
 * Returns the configuration of the node test.
 *
 * @throws Error that names every invalid variable.
 */
export function readPictureConfig(environment: Environment) {
  const env = readEnvironment(PictureVariables, environment, "node test");
  return { ...readPicture(env), framesPerSecond: env.FPS };
}

/**
 * Returns the configuration of a session's streamer.
 *
 * @throws Error that names every invalid variable.
 */
export function readConfig(environment: Environment) {
  const env = readEnvironment(Variables, environment, "streamer");
  const ownAddress = env.HOST_IP ?? env.POD_IP;
  const announceAddresses =
    env.ANNOUNCE_ADDRESS.length > 0 || ownAddress === undefined ? env.ANNOUNCE_ADDRESS : [ownAddress];
  if (announceAddresses.length === 0) {
    throw new Error("Set ANNOUNCE_ADDRESS, HOST_IP or POD_IP, so that browsers can reach the streamer.");
  }
  const saves = readSaves(env);
  return {
    ...readPicture(env),
    ...readQuality(env),
    signalPort: env.SIGNAL_PORT,
    udpPort: env.UDP_PORT,
    /**
     * Keys of the accepted tickets. The API's key signs viewers' tickets, except for sessions without
     * tickets.
     */
    tickets: {
      sessionId: env.SESSION_ID,
      viewerKey: env.TICKET_PUBLIC_KEY,
      operatorKey: env.OPERATOR_PUBLIC_KEY,
    },
    announceAddresses,
    startKbps: Math.min(env.START_KBPS, env.MAX_KBPS),
    gameReportPath: `${env.GAME_REPORT_DIR}/${gameReportFile}`,
    closeSocket: `${env.RUN_DIR}/${socketNames.close}`,
    gamepadDirectory: env.GAMEPAD_DIR ?? `${env.RUN_DIR}/${socketNames.gamepads}`,
    /** Undefined when saves are not kept. */
    saves,
    /** Files of a session that plays for a verification, without a viewer; undefined in all others. */
    verification:
      env.VERIFICATION === undefined
        ? undefined
        : { refusalsPath: `${env.GAME_REPORT_DIR}/${gameObservationsFile}`, file: observationsFile },
  };
}
