import { availableParallelism } from "node:os";
import { z } from "zod";
import { installationName } from "#contracts/crd/installation.ts";
import { limits } from "#contracts/limits.ts";
import { pictureRanges, type SiteBounds } from "#contracts/streamQuality.ts";
import { ticketSigningKey } from "#contracts/streamTicket.ts";
import { authorityFile } from "#runtime/network/authorityFile.ts";
import {
  listed,
  logLevel,
  nonEmpty,
  readEnvironment,
  whole,
  within,
  type Environment,
} from "#runtime/program/readEnvironment.ts";
import { checkObjectStore, objectStoreAccessOf, objectStoreVariables } from "#s3/objectStoreVariables.ts";
import { sessionCookieName } from "./auth/cookies.ts";
import { streamCodecs } from "./gameSessions/streamCodecs.ts";
import { checkSiteResources, siteResourcesOf, siteResourceVariables } from "./games/siteResources.ts";
import { providersFile } from "./auth/oauth/providerConfig.ts";
import { checkDatabaseAuthority, checkRedisAuthority, databaseAddress } from "./stores/storeSettings.ts";

/** 0 leaves it to the service. */
const orUnset = ({ min, max }: { min: number; max: number }) =>
  z.coerce
    .number()
    .int()
    .default(0)
    .refine((value) => value === 0 || (value >= min && value <= max), `must be 0, or ${min} to ${max}`);
const isOn = z
  .enum(["on", "off"])
  .default("on")
  .transform((word) => word === "on");
const origin = z
  .url({ protocol: /^https?$/, error: "must be an http or https address", abort: true })
  .refine(
    (text) => new URL(text).pathname === "/" && !/[?#]/.test(text),
    "must be an origin: scheme, host and port only",
  )
  .transform((text) => new URL(text).origin);
const databaseUrl = z.url({
  protocol: /^postgres(?:ql)?$/,
  error:
    "must be a postgres:// address; in the chart it is key url of the secret that postgres.existingSecret names",
});
const redisUrl = z
  .url({
    protocol: /^rediss?$/,
    error:
      "must be a redis:// or rediss:// address; in the chart it is key url of the secret that redis.existingSecret names",
    abort: true,
  })
  .refine(
    hasDecodableUser,
    "must have a percent sign of its user or password written as %25; in the chart it is key url of the secret that redis.existingSecret names",
  );

const keyBytesMin = 32;
const relaySecretMin = 16;

/**
 * What stands in examples until somebody replaces it; a service that signs with such a key is open to
 * everybody.
 */
function isPlaceholder(secret: string): boolean {
  return new Set(secret).size < 8 || /change.?me|replace.?me|placeholder/i.test(secret);
}

/** Redis' client decodes both, and throws where it cannot. */
function hasDecodableUser(address: string): boolean {
  const { username, password } = new URL(address);
  try {
    decodeURIComponent(username);
    decodeURIComponent(password);
    return true;
  } catch {
    return false;
  }
}

const signingKeys = z
  .string("must be set; in the chart it is key signingKeys of the secret that api.existingSecret names")
  .transform((text, context) => {
    const keys = new Map<string, Buffer>();
    for (const pair of listed(text)) {
      const [, kid, encoded] = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/_-]+={0,2})$/.exec(pair) ?? [];
      const key = Buffer.from(encoded ?? "", "base64");
      const isWeak = key.length < keyBytesMin || isPlaceholder(key.toString("latin1"));
      if (kid === undefined || keys.has(kid) || isWeak) {
        context.addIssue(
          `must be kid:base64 pairs, of which the first signs, each of at least ${keyBytesMin} random bytes: make one with 'openssl rand -base64 32'`,
        );
        return z.NEVER;
      }
      keys.set(kid, key);
    }
    if (keys.size === 0) context.addIssue("must hold at least one key");
    return keys;
  });

const originList = z.string().default("").transform(listed).pipe(z.array(origin));

/** The private key of tickets to connection tests, by its seed. */
const testSigningKey = z
  .string()
  .trim()
  .default("")
  .transform((text, context) => {
    if (text === "") return undefined;
    const seed = Buffer.from(text, "base64");
    if (seed.length === 32) return ticketSigningKey(seed);
    context.addIssue("must be base64 of 32 random bytes: make one with 'openssl rand -base64 32'");
    return z.NEVER;
  });

const secondsList = (fallback: readonly number[]) =>
  z
    .string()
    .default(fallback.join(","))
    .transform((text) => listed(text).map(Number))
    .pipe(z.array(z.int().min(1).max(86_400)).max(10));

/** Addresses of relays, as browsers take them. */
const relayUrls = z
  .string()
  .default("")
  .transform(listed)
  .pipe(
    z
      .array(
        z
          .string()
          .regex(
            /^turns?:[A-Za-z0-9._:[\]-]+(\?transport=(udp|tcp))?$/,
            "must be turn: or turns: addresses, such as turn:turn.example.com:3478?transport=udp",
          ),
      )
      .max(8),
  );

/** Variables of the database. */
export const databaseVariables = {
  DATABASE_URL: databaseUrl,
  DATABASE_CA_FILE: authorityFile,
  DATABASE_POOL_SIZE: whole(10, 1, 200),
  DATABASE_TIMEOUT_MS: whole(10_000, 100, 600_000),
};

/** All variables of the API; the command line reads some of them, too. */
export const Variables = z
  .object({
    ...databaseVariables,
    REDIS_URL: redisUrl,
    REDIS_CA_FILE: authorityFile,
    REDIS_TIMEOUT_MS: whole(200, 10, 10_000),
    ...objectStoreVariables,
    S3_TIMEOUT_MS: whole(10_000, 100, 120_000),
    PORT: whole(8080, 0, 65_535),
    METRICS_PORT: whole(8083, 0, 65_535),
    BASE_URL: origin,
    ALLOWED_ORIGINS: originList,
    TRUSTED_PROXIES: whole(0, 0, 10),
    HEALTH_ROUTES: isOn,
    OPENAPI_ROUTE: isOn,
    WEB_ROOT: z.string().trim().default(""),
    DEFAULT_AVATAR_URL: z.string().trim().default(""),
    SIGNING_KEYS: signingKeys,
    PASSWORD_PEPPER: z
      .string(
        "must be set; in the chart it is key passwordPepper of the secret that api.existingSecret names",
      )
      .refine(
        (text) => text.length >= 16 && !isPlaceholder(text),
        "must be at least 16 characters of random text: make one with 'openssl rand -base64 32'",
      ),
    BCRYPT_COST: whole(limits.auth.bcryptCost, 4, 16),
    PASSWORD_WORKERS: whole(Math.max(1, Math.min(4, availableParallelism() - 1)), 1, 32),
    TOKEN_LIFETIME_SECONDS: whole(limits.auth.tokenLifetimeSeconds, 60, 400 * 86_400),
    SESSION_MAX_SECONDS: whole(0, 0, 3650 * 86_400),
    AUTH_READS_PER_MINUTE: whole(limits.auth.readsPerIpPerMinute, 1, 1_000_000),
    AUTH_POSTS_PER_MINUTE: whole(limits.auth.postsPerIpPerMinute, 1, 1_000_000),
    SIGN_IN_FAILURES_PER_ADDRESS: whole(limits.auth.failuresPerIp, 1, 100_000),
    AUTH_PROVIDERS_FILE: providersFile,
    SIGN_IN_PAGE_URL: z
      .union([z.literal(""), z.url({ protocol: /^https?$/, error: "must be an http or https address" })])
      .default(""),
    SESSIONS_NAMESPACE: nonEmpty("joypod-sessions"),
    INSTALLATION: installationName,
    POD_NAMESPACE: nonEmpty("joypod"),
    POD_NAME: nonEmpty("api"),
    KUBECONFIG: z.string().trim().default(""),
    GAME_NETWORK: z.enum(["none", "internet"]).default("none"),
    ...siteResourceVariables,
    STREAM_PROFILE: z.enum(["Software", "Gpu"]).default("Software"),
    STREAM_WIDTH: within(1280, pictureRanges.width),
    STREAM_HEIGHT: within(720, pictureRanges.height),
    STREAM_FRAMES_PER_SECOND: within(60, pictureRanges.fps),
    STREAM_MAX_WIDTH: orUnset(pictureRanges.width),
    STREAM_MAX_HEIGHT: orUnset(pictureRanges.height),
    STREAM_MAX_FRAMES_PER_SECOND: orUnset(pictureRanges.fps),
    STREAM_MAX_BITRATE_KBPS: within(8000, pictureRanges.kbps),
    STREAM_CODECS: streamCodecs,
    CONNECTION_TEST_URL: z
      .union([z.literal(""), z.url({ protocol: /^http$/, error: "must be an http address" })])
      .default(""),
    CONNECTION_TEST_SIGNING_KEY: testSigningKey,
    IDLE_TIMEOUT_SECONDS: whole(limits.gameSession.idleTimeoutSeconds, 10, 86_400),
    START_DEADLINE_SECONDS: whole(limits.gameSession.startDeadlineSeconds, 5, 3600),
    DOWNLOAD_DEADLINE_SECONDS: whole(limits.gameSession.downloadDeadlineSeconds, 5, 3600),
    MAX_DURATION_SECONDS: whole(limits.gameSession.maxDurationSeconds, 60, 7 * 86_400),
    TTL_SECONDS_AFTER_FINISHED: whole(limits.gameSession.ttlSecondsAfterFinished, 0, 86_400),
    STOP_WAIT_SECONDS: whole(limits.gameSession.stopWaitSeconds, 1, 600),
    EVENT_HEARTBEAT_SECONDS: whole(limits.gameSession.eventHeartbeatSeconds, 1, 600),
    EXPIRY_WARNING_SECONDS: secondsList(limits.gameSession.expiryWarningSeconds),
    LAUNCHES_PER_MINUTE: whole(limits.gameSession.launchesPerMinute, 1, 100_000),
    LAUNCHES_PER_HOUR: whole(limits.gameSession.launchesPerHour, 1, 100_000),
    POLLS_PER_MINUTE: whole(limits.gameSession.pollsPerMinute, 1, 1_000_000),
    CATALOG_REQUESTS_PER_MINUTE: whole(limits.catalog.requestsPerMinute, 1, 1_000_000),
    PARTNER_REQUESTS_PER_MINUTE: whole(limits.partner.requestsPerMinute, 1, 100_000),
    PARTNER_UPLOADS_PER_HOUR: whole(limits.partner.uploadsPerHour, 1, 100_000),
    UPLOAD_IDLE_MS: whole(30_000, 100, 600_000),
    UPLOAD_WINDOW_MS: whole(60_000, 100, 600_000),
    UPLOAD_MIN_BYTES_PER_SECOND: whole(16 * 1024, 1, 2 ** 30),
    UPLOAD_MAX_BYTES: whole(limits.archive.packedBytes, 1, Number.MAX_SAFE_INTEGER),
    SAVE_VERSIONS_KEPT: whole(10, 1, 1000),
    SAVE_DAILY_VERSIONS_DAYS: whole(30, 0, 3650),
    SAVE_RETENTION_DAYS: whole(7, 0, 3650),
    SAVE_CHANGES_PER_MINUTE: whole(limits.save.changesPerMinute, 1, 100_000),
    SAVE_TRANSFERS_PER_HOUR: whole(limits.save.transfersPerHour, 1, 100_000),
    SAVE_SCRUB_HOURS: whole(24, 0, 8760),
    SAVE_SCRUB_BYTES_PER_SECOND: whole(8 * 2 ** 20, 1024, 2 ** 40),
    TURN_URLS: relayUrls,
    TURN_SECRET: z.string().trim().default(""),
    TURN_CREDENTIAL_SECONDS: whole(limits.turnCredential.lifetimeSeconds, 60, 86_400),
    MAX_CONNECTIONS: whole(10_000, 1, 1_000_000),
    HEADERS_TIMEOUT_MS: whole(15_000, 100, 600_000),
    BODY_TIMEOUT_MS: whole(10_000, 100, 600_000),
    STALLED_ANSWER_MS: whole(60_000, 100, 3_600_000),
    CONNECTION_CHECK_MS: whole(5_000, 50, 60_000),
    READY_KEPT_MS: whole(1_000, 0, 60_000),
    SHUTDOWN_DELAY_SECONDS: whole(5, 0, 120),
    SHUTDOWN_SECONDS: whole(20, 1, 600),
    LOG_LEVEL: logLevel,
  })
  .superRefine(({ TURN_URLS: urls, TURN_SECRET: secret }, context) => {
    if (urls.length > 0 && (secret.length < relaySecretMin || isPlaceholder(secret))) {
      context.addIssue({
        code: "custom",
        path: ["TURN_SECRET"],
        message: `must be what the relay of TURN_URLS knows, at least ${relaySecretMin} characters of random text: make one with 'openssl rand -base64 48'`,
      });
    }
  });

/**
 * Without a maximum of its own a site sends 1080p where a GPU renders, and elsewhere what it sends anyway.
 * What it sends anyway is lowered to a maximum.
 */
function siteBoundsOf(env: z.infer<typeof Variables>): SiteBounds {
  const {
    STREAM_WIDTH: width,
    STREAM_HEIGHT: height,
    STREAM_FRAMES_PER_SECOND: fps,
    STREAM_MAX_BITRATE_KBPS: maxKbps,
  } = env;
  const hasGpu = env.STREAM_PROFILE === "Gpu";
  const maxWidth = env.STREAM_MAX_WIDTH || Math.max(width, hasGpu ? 1920 : 0);
  const maxHeight = env.STREAM_MAX_HEIGHT || Math.max(height, hasGpu ? 1080 : 0);
  const maxFps = env.STREAM_MAX_FRAMES_PER_SECOND || fps;
  return {
    width: Math.min(width, maxWidth),
    height: Math.min(height, maxHeight),
    fps: Math.min(fps, maxFps),
    maxWidth,
    maxHeight,
    maxFps,
    maxKbps,
  };
}

/** What the API is told at its start; nothing deeper looks at the environment. */
export type Config = ReturnType<typeof readConfig>;

/**
 * Keys of log lines that hold a partner's key, or what a sign-in elsewhere hands over: their values are never
 * written.
 */
export const secretLogKeys = ["key", "code", "state"];

/** Returns the configuration; throws one error that names every wrong variable. */
export function readConfig(environment: Environment) {
  const env = readEnvironment(
    Variables.superRefine(checkSiteResources)
      .superRefine(checkDatabaseAuthority)
      .superRefine(checkRedisAuthority)
      .superRefine(checkObjectStore),
    environment,
    "API",
  );
  const isSecure = env.BASE_URL.startsWith("https:");
  return {
    port: env.PORT,
    metricsPort: env.METRICS_PORT,
    /** Origin of every absolute address in responses; never taken from a request. */
    baseUrl: env.BASE_URL,
    isSecure,
    /** Name of the cookie that signed-in players send. */
    sessionCookie: sessionCookieName({ isSecure }),
    /** Where pages may live that use this API or are returned to after sign-in. */
    allowedOrigins: new Set([env.BASE_URL, ...env.ALLOWED_ORIGINS]),
    /** Proxies in front that append to X-Forwarded-For. */
    trustedProxies: env.TRUSTED_PROXIES,
    /** What is served outside /api, besides pages. */
    serves: { health: env.HEALTH_ROUTES, document: env.OPENAPI_ROUTE },
    /** Undefined: the API serves no pages. */
    webRoot: env.WEB_ROOT === "" ? undefined : env.WEB_ROOT,
    defaultAvatarUrl: env.DEFAULT_AVATAR_URL,
    /**
     * The page that players sign in on: one that is named, that of the pages we serve, or else undefined for
     * our own plain form.
     */
    signInPageUrl:
      env.SIGN_IN_PAGE_URL === ""
        ? env.WEB_ROOT === ""
          ? undefined
          : `${env.BASE_URL}/signin`
        : env.SIGN_IN_PAGE_URL,
    postgres: {
      url: databaseAddress(env.DATABASE_URL, env.DATABASE_CA_FILE),
      poolSize: env.DATABASE_POOL_SIZE,
      timeoutMs: env.DATABASE_TIMEOUT_MS,
    },
    redis: {
      url: env.REDIS_URL,
      authorities: env.REDIS_CA_FILE?.certificates,
      commandTimeoutMs: env.REDIS_TIMEOUT_MS,
    },
    objectStore: { ...objectStoreAccessOf(env), timeoutMs: env.S3_TIMEOUT_MS },
    auth: {
      signingKeys: env.SIGNING_KEYS,
      pepper: env.PASSWORD_PEPPER,
      bcryptCost: env.BCRYPT_COST,
      passwordWorkers: env.PASSWORD_WORKERS,
      tokenLifetimeSeconds: env.TOKEN_LIFETIME_SECONDS,
      /** Of a sign-in however often it is used; undefined for no end. */
      absoluteLifetimeSeconds: env.SESSION_MAX_SECONDS === 0 ? undefined : env.SESSION_MAX_SECONDS,
      /** These three are of one network address. */
      readsPerMinute: env.AUTH_READS_PER_MINUTE,
      postsPerMinute: env.AUTH_POSTS_PER_MINUTE,
      failuresPerAddress: env.SIGN_IN_FAILURES_PER_ADDRESS,
      providers: env.AUTH_PROVIDERS_FILE,
    },
    cluster: {
      sessionsNamespace: env.SESSIONS_NAMESPACE,
      installation: env.INSTALLATION,
      releaseNamespace: env.POD_NAMESPACE,
      identity: env.POD_NAME,
      kubeconfig: env.KUBECONFIG === "" ? undefined : env.KUBECONFIG,
    },
    /** Whether games may be registered, and launched, that open connections. */
    isInternetAllowed: env.GAME_NETWORK === "internet",
    /** What a game is given by default, and at most. */
    siteResources: siteResourcesOf(env),
    /** Where connection tests are answered; undefined for nowhere. */
    connectionTest:
      env.CONNECTION_TEST_URL === "" || env.CONNECTION_TEST_SIGNING_KEY === undefined
        ? undefined
        : { url: env.CONNECTION_TEST_URL, signingKey: env.CONNECTION_TEST_SIGNING_KEY },
    gameSession: {
      profile: env.STREAM_PROFILE,
      stream: siteBoundsOf(env),
      codecs: env.STREAM_CODECS,
      idleTimeoutSeconds: env.IDLE_TIMEOUT_SECONDS,
      startDeadlineSeconds: env.START_DEADLINE_SECONDS,
      downloadDeadlineSeconds: env.DOWNLOAD_DEADLINE_SECONDS,
      maxDurationSeconds: env.MAX_DURATION_SECONDS,
      ttlSecondsAfterFinished: env.TTL_SECONDS_AFTER_FINISHED,
      stopWaitSeconds: env.STOP_WAIT_SECONDS,
      /** Between signs of life on event streams. */
      eventHeartbeatSeconds: env.EVENT_HEARTBEAT_SECONDS,
      /** Before the idle end, when players are warned. */
      expiryWarningSeconds: env.EXPIRY_WARNING_SECONDS,
      launchesPerMinute: env.LAUNCHES_PER_MINUTE,
      launchesPerHour: env.LAUNCHES_PER_HOUR,
      pollsPerMinute: env.POLLS_PER_MINUTE,
    },
    /** How much of a slot's history is kept. */
    saves: {
      retentionMs: env.SAVE_RETENTION_DAYS * 86_400_000,
      versionsKept: env.SAVE_VERSIONS_KEPT,
      dailyVersionsDays: env.SAVE_DAILY_VERSIONS_DAYS,
      changesPerMinute: env.SAVE_CHANGES_PER_MINUTE,
      transfersPerHour: env.SAVE_TRANSFERS_PER_HOUR,
      /** How often each kept save is read again, and how fast; undefined for never. */
      scrub:
        env.SAVE_SCRUB_HOURS === 0
          ? undefined
          : { intervalSeconds: env.SAVE_SCRUB_HOURS * 3600, bytesPerSecond: env.SAVE_SCRUB_BYTES_PER_SECOND },
    },
    turn: {
      /** Undefined: players reach game nodes directly or not at all. */
      relay: env.TURN_URLS.length === 0 ? undefined : { urls: env.TURN_URLS, secret: env.TURN_SECRET },
      lifetimeSeconds: env.TURN_CREDENTIAL_SECONDS,
    },
    catalog: { requestsPerMinute: env.CATALOG_REQUESTS_PER_MINUTE },
    partner: {
      requestsPerMinute: env.PARTNER_REQUESTS_PER_MINUTE,
      uploadsPerHour: env.PARTNER_UPLOADS_PER_HOUR,
      uploadMaxBytes: env.UPLOAD_MAX_BYTES,
      /**
       * How slowly an archive may come: far below any line that could upload a game, far above what ties up a
       * connection for nothing.
       */
      uploadPace: {
        idleMs: env.UPLOAD_IDLE_MS,
        windowMs: env.UPLOAD_WINDOW_MS,
        minBytesPerWindow: (env.UPLOAD_MIN_BYTES_PER_SECOND * env.UPLOAD_WINDOW_MS) / 1000,
      },
    },
    http: {
      connections: env.MAX_CONNECTIONS,
      headersTimeoutMs: env.HEADERS_TIMEOUT_MS,
      bodyTimeoutMs: env.BODY_TIMEOUT_MS,
      stalledResponseMs: env.STALLED_ANSWER_MS,
      checkingIntervalMs: env.CONNECTION_CHECK_MS,
      /** How long a look at the stores answers `/readyz`. */
      readyKeptMs: env.READY_KEPT_MS,
    },
    shutdownDelaySeconds: env.SHUTDOWN_DELAY_SECONDS,
    shutdownSeconds: env.SHUTDOWN_SECONDS,
    logLevel: env.LOG_LEVEL,
  };
}

/** Returns what is valid but looks unsafe, in sentences that say what to do. */
export function configWarnings({
  isSecure,
  trustedProxies,
  auth: { bcryptCost },
}: Pick<Config, "isSecure" | "trustedProxies" | "auth">): string[] {
  if (!isSecure) return [];
  const warnings: string[] = [];
  if (trustedProxies === 0) {
    warnings.push(
      "BASE_URL is https, so something in front ends TLS, yet TRUSTED_PROXIES is 0: limits per address count all its clients as one. Set it to the number of proxies that append to X-Forwarded-For.",
    );
  }
  if (bcryptCost < limits.auth.bcryptCost) {
    warnings.push(
      `BCRYPT_COST is ${bcryptCost}: passwords from a stolen database would be guessed too fast. Set it to ${limits.auth.bcryptCost} or more.`,
    );
  }
  return warnings;
}
