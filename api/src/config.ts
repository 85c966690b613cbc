import type { z } from "zod";
import { limits } from "#contracts/limits.ts";
import type { SiteBounds } from "#contracts/streamQuality.ts";
import { checkObjectStore, objectStoreAccessOf } from "#s3/objectStoreVariables.ts";
import { type Environment, readEnvironment } from "#runtime/program/readEnvironment.ts";
import { sessionCookieName } from "./auth/cookies.ts";
import { checkSiteResources, siteResourcesOf } from "./games/siteResources.ts";
import { checkMail, mailSettingsOf } from "./mail/mailSettings.ts";
import { Variables } from "./variables.ts";
import { checkDatabaseAuthority, checkRedisAuthority, databaseAddress } from "./stores/storeSettings.ts";

/**
 * Returns the stream bounds. Without a configured maximum, a site with GPUs allows 1080p, and others their
 * default size. Defaults are lowered to the maximum.
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

/** The API's configuration; nothing else reads the environment. */
export type Config = ReturnType<typeof readConfig>;

/** Log keys with secret values (partner keys, external sign-in codes), which are redacted. */
export const secretLogKeys = ["key", "code", "state"];

/**
 * Returns the configuration.
 *
 * @throws one error that names every invalid variable.
 */
export function readConfig(environment: Environment) {
  const env = readEnvironment(
    Variables.superRefine(checkSiteResources)
      .superRefine(checkDatabaseAuthority)
      .superRefine(checkRedisAuthority)
      .superRefine(checkObjectStore)
      .superRefine(checkMail),
    environment,
    "API",
  );
  const isSecure = env.BASE_URL.startsWith("https:");
  return {
    port: env.PORT,
    metricsPort: env.METRICS_PORT,
    /** Origin of absolute addresses in responses; never taken from a request. */
    baseUrl: env.BASE_URL,
    isSecure,
    /** Name of the session cookie. */
    sessionCookie: sessionCookieName({ isSecure }),
    /** Origins of pages that may use this API or be returned to after sign-in. */
    allowedOrigins: new Set([env.BASE_URL, ...env.ALLOWED_ORIGINS]),
    /** Number of proxies that append to X-Forwarded-For. */
    trustedProxies: env.TRUSTED_PROXIES,
    /** Routes served outside /api, besides pages. */
    serves: { health: env.HEALTH_ROUTES, document: env.OPENAPI_ROUTE },
    /** Undefined if the API serves no pages. */
    webRoot: env.WEB_ROOT === "" ? undefined : env.WEB_ROOT,
    defaultAvatarUrl: env.DEFAULT_AVATAR_URL,
    /** The sign-in page: the configured one, that of the served pages, or undefined for the built-in form. */
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
      /** Maximum lifetime of a sign-in regardless of use; undefined for no limit. */
      absoluteLifetimeSeconds: env.SESSION_MAX_SECONDS === 0 ? undefined : env.SESSION_MAX_SECONDS,
      /** These three limits are per network address. */
      readsPerMinute: env.AUTH_READS_PER_MINUTE,
      postsPerMinute: env.AUTH_POSTS_PER_MINUTE,
      failuresPerAddress: env.SIGN_IN_FAILURES_PER_ADDRESS,
      mailRequestsPerAddress: env.MAIL_REQUESTS_PER_ADDRESS,
      providers: env.AUTH_PROVIDERS_FILE,
      /** Who may open an account: nobody, players with an invitation, or everybody. */
      signUp: env.SIGN_UP,
    },
    /** The SMTP server; undefined if this site sends no mail. */
    mail: mailSettingsOf(env),
    cluster: {
      sessionsNamespace: env.SESSIONS_NAMESPACE,
      installation: env.INSTALLATION,
      releaseNamespace: env.POD_NAMESPACE,
      identity: env.POD_NAME,
      kubeconfig: env.KUBECONFIG === "" ? undefined : env.KUBECONFIG,
    },
    /** Whether games with internet access may be registered and launched. */
    isInternetAllowed: env.GAME_NETWORK === "internet",
    /** Default and maximum resources of a game. */
    siteResources: siteResourcesOf(env),
    /** Address of the connection test responders; undefined if there are none. */
    connectionTest:
      env.CONNECTION_TEST_URL === "" || env.CONNECTION_TEST_SIGNING_KEY === undefined
        ? undefined
        : { url: env.CONNECTION_TEST_URL, signingKey: env.CONNECTION_TEST_SIGNING_KEY },
    gameSession: {
      profile: env.STREAM_PROFILE,
      stream: siteBoundsOf(env),
      codecs: env.STREAM_CODECS,
      idleTimeoutSeconds: env.IDLE_TIMEOUT_SECONDS,
      /** How long a session waits for a player whose page has closed. */
      leaveGraceSeconds: env.LEAVE_GRACE_SECONDS,
      startDeadlineSeconds: env.START_DEADLINE_SECONDS,
      downloadDeadlineSeconds: env.DOWNLOAD_DEADLINE_SECONDS,
      maxDurationSeconds: env.MAX_DURATION_SECONDS,
      ttlSecondsAfterFinished: env.TTL_SECONDS_AFTER_FINISHED,
      stopWaitSeconds: env.STOP_WAIT_SECONDS,
      /** Interval of heartbeats on event streams. */
      eventHeartbeatSeconds: env.EVENT_HEARTBEAT_SECONDS,
      /** Seconds before the idle timeout at which players are warned. */
      expiryWarningSeconds: env.EXPIRY_WARNING_SECONDS,
      launchesPerMinute: env.LAUNCHES_PER_MINUTE,
      launchesPerHour: env.LAUNCHES_PER_HOUR,
      pollsPerMinute: env.POLLS_PER_MINUTE,
    },
    /** How long every player may play. */
    playLimits: {
      daySeconds: secondsOf(env.PLAY_HOURS_PER_DAY),
      monthSeconds: secondsOf(env.PLAY_HOURS_PER_MONTH),
      timeZone: env.PLAY_LIMIT_TIME_ZONE,
    },
    /** Retention of a slot's history. */
    saves: {
      retentionMs: env.SAVE_RETENTION_DAYS * 86_400_000,
      versionsKept: env.SAVE_VERSIONS_KEPT,
      dailyVersionsDays: env.SAVE_DAILY_VERSIONS_DAYS,
      changesPerMinute: env.SAVE_CHANGES_PER_MINUTE,
      transfersPerHour: env.SAVE_TRANSFERS_PER_HOUR,
      /** Interval and rate of save checks; undefined for never. */
      scrub:
        env.SAVE_SCRUB_HOURS === 0
          ? undefined
          : { intervalSeconds: env.SAVE_SCRUB_HOURS * 3600, bytesPerSecond: env.SAVE_SCRUB_BYTES_PER_SECOND },
    },
    /** Maximum number of launches that wait for a seat; 0 for no queue. */
    queueLength: env.QUEUE_LENGTH,
    turn: {
      /** Undefined without relays: players reach game nodes directly or not at all. */
      relay: env.TURN_URLS.length === 0 ? undefined : { urls: env.TURN_URLS, secret: env.TURN_SECRET },
      lifetimeSeconds: env.TURN_CREDENTIAL_SECONDS,
    },
    catalog: { requestsPerMinute: env.CATALOG_REQUESTS_PER_MINUTE },
    partner: {
      requestsPerMinute: env.PARTNER_REQUESTS_PER_MINUTE,
      uploadsPerHour: env.PARTNER_UPLOADS_PER_HOUR,
      uploadMaxBytes: env.UPLOAD_MAX_BYTES,
      /** Number of a game's newest archives that are kept, in addition to those in use. */
      versionsKept: env.GAME_VERSIONS_KEPT,
      /** Whether partners may let versions be verified, and whether uploads are unless they choose. */
      verify: env.GAME_VERIFY,
      /**
       * Minimum pace of an upload: far below any connection that could upload a game, far above what ties up
       * a connection.
       */
      uploadPace: {
        idleMs: env.UPLOAD_IDLE_MS,
        windowMs: env.UPLOAD_WINDOW_MS,
        minBytesPerWindow: (env.UPLOAD_MIN_BYTES_PER_SECOND * env.UPLOAD_WINDOW_MS) / 1000,
      },
    },
    /** Where events of partners' games may be sent. */
    webhooks: {
      isEnabled: env.WEBHOOKS,
      isHttpAllowed: env.WEBHOOK_ALLOW_HTTP,
      allowed: env.WEBHOOK_ALLOWED_NETWORKS,
      denied: env.WEBHOOK_DENIED_NETWORKS,
      nameservers: env.WEBHOOK_NAMESERVERS,
    },
    http: {
      connections: env.MAX_CONNECTIONS,
      headersTimeoutMs: env.HEADERS_TIMEOUT_MS,
      bodyTimeoutMs: env.BODY_TIMEOUT_MS,
      stalledResponseMs: env.STALLED_ANSWER_MS,
      checkingIntervalMs: env.CONNECTION_CHECK_MS,
      /** How long a check of the stores is reused for `/readyz`. */
      readyKeptMs: env.READY_KEPT_MS,
    },
    shutdownDelaySeconds: env.SHUTDOWN_DELAY_SECONDS,
    shutdownSeconds: env.SHUTDOWN_SECONDS,
    logLevel: env.LOG_LEVEL,
  };
}

/** Returns warnings about valid but unsafe settings, each with what to do. */
export function configWarnings({
  isSecure,
  trustedProxies,
  auth: { bcryptCost },
}: Pick<Config, "isSecure" | "trustedProxies" | "auth">): string[] {
  if (!isSecure) return [];
  const warnings: string[] = [];
  if (trustedProxies === 0) {
    warnings.push(
      "BASE_URL is https, so a proxy terminates TLS, but TRUSTED_PROXIES is 0: rate limits count all clients as one address. Set it to the number of proxies that append to X-Forwarded-For.",
    );
  }
  if (bcryptCost < limits.auth.bcryptCost) {
    warnings.push(
      `BCRYPT_COST is ${bcryptCost}: passwords from a stolen database could be guessed too fast. Set it to ${limits.auth.bcryptCost} or more.`,
    );
  }
  return warnings;
}

/** Returns the seconds of a limit in hours; undefined for 0, which is no limit. */
function secondsOf(hours: number): number | undefined {
  return hours === 0 ? undefined : Math.max(limits.gameSession.playSecondsMin, Math.round(hours * 3600));
}
