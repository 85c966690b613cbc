import { Resolver } from "node:dns";
import { availableParallelism } from "node:os";
import { z } from "zod";
import { installationName } from "#contracts/crd/installation.ts";
import { limits } from "#contracts/limits.ts";
import { pictureRanges } from "#contracts/streamQuality.ts";
import { ticketSigningKey } from "#contracts/streamTicket.ts";
import { objectStoreVariables } from "#s3/objectStoreVariables.ts";
import { codecEncodingNames, softwareCodecs } from "#contracts/videoCodec.ts";
import { listed, whole, nonEmpty, within, logLevel } from "#runtime/program/readEnvironment.ts";
import { authorityFile } from "#runtime/network/authorityFile.ts";
import { StreamCodec } from "#contracts/crd/streamSpec.ts";
import { siteResourceVariables } from "./games/siteResources.ts";
import { providersFile } from "./auth/oauth/providerConfig.ts";
import { isSender } from "./mail/mailSettings.ts";
import { parseNetwork } from "./webhooks/addresses.ts";

/** Accepts a number in the range; 0 means unset. */
const orUnset = ({ min, max }: { min: number; max: number }) =>
  z.coerce
    .number()
    .int()
    .default(0)
    .refine((value) => value === 0 || (value >= min && value <= max), `must be 0, or ${min} to ${max}`);
/** Accepts hours; 0 means no limit. */
const playHours = (max: number) => z.coerce.number().min(0).max(max).default(0);
const onOrOff = (fallback: "on" | "off") =>
  z
    .enum(["on", "off"])
    .default(fallback)
    .transform((word) => word === "on");
const isOn = onOrOff("on");
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
    "must be a postgres:// address; in the chart, key url of the secret named by postgres.existingSecret",
});
const redisUrl = z
  .url({
    protocol: /^rediss?$/,
    error:
      "must be a redis:// or rediss:// address; in the chart, key url of the secret named by redis.existingSecret",
    abort: true,
  })
  .refine(
    hasDecodableUser,
    "must encode a percent sign in its user or password as %25; in the chart, key url of the secret named by redis.existingSecret",
  );

const keyBytesMin = 32;
const relaySecretMin = 16;

/**
 * Returns whether the secret looks like a placeholder from an example. A service that signs with such a key
 * is open to everybody.
 */
function isPlaceholder(secret: string): boolean {
  return new Set(secret).size < 8 || /change.?me|replace.?me|placeholder/i.test(secret);
}

/** Returns whether a resolver accepts the addresses of nameservers. */
function areNameservers(servers: readonly string[]): boolean {
  try {
    new Resolver().setServers(servers);
    return true;
  } catch {
    return false;
  }
}

/** Returns whether the runtime knows the time zone, as Postgres does. */
function isTimeZone(name: string): boolean {
  return name === "UTC" || Intl.supportedValuesOf("timeZone").includes(name);
}

/** Returns whether user and password can be decoded, which the Redis client requires. */
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
  .string("must be set; in the chart, key signingKeys of the secret named by api.existingSecret")
  .transform((text, context) => {
    const keys = new Map<string, Buffer>();
    for (const pair of listed(text)) {
      const [, kid, encoded] = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/_-]+={0,2})$/.exec(pair) ?? [];
      const key = Buffer.from(encoded ?? "", "base64");
      const isWeak = key.length < keyBytesMin || isPlaceholder(key.toString("latin1"));
      if (kid === undefined || keys.has(kid) || isWeak) {
        context.addIssue(
          `must be kid:base64 pairs of at least ${keyBytesMin} random bytes each; the first one signs. Create one with 'openssl rand -base64 32'`,
        );
        return z.NEVER;
      }
      keys.set(kid, key);
    }
    if (keys.size === 0) context.addIssue("must contain at least one key");
    return keys;
  });

const originList = z.string().default("").transform(listed).pipe(z.array(origin));

/** Private key of connection test tickets, from its seed. */
const testSigningKey = z
  .string()
  .trim()
  .default("")
  .transform((text, context) => {
    if (text === "") return undefined;
    const seed = Buffer.from(text, "base64");
    if (seed.length === 32) return ticketSigningKey(seed);
    context.addIssue("must be base64 of 32 random bytes. Create one with 'openssl rand -base64 32'");
    return z.NEVER;
  });

const secondsList = (fallback: readonly number[]) =>
  z
    .string()
    .default(fallback.join(","))
    .transform((text) => listed(text).map(Number))
    .pipe(z.array(z.int().min(1).max(86_400)).max(10));

/** Addresses of relays in the format of browsers. */
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

/**
 * The site's codecs in order of preference. Codecs that only GPUs encode require one that every node encodes.
 */
const streamCodecs = z
  .string()
  .default("H264,VP8")
  .transform(listed)
  .pipe(z.array(StreamCodec))
  .refine((codecs) => new Set(codecs).size === codecs.length, "must not contain a codec twice")
  .refine(
    (codecs) => softwareCodecs.some((codec) => codecs.includes(codecEncodingNames[codec])),
    "must include H264 or VP8, which every node encodes and every browser decodes",
  );

/** Ranges of addresses, or addresses. */
const networkList = z
  .string()
  .default("")
  .transform((text, context) => {
    try {
      return listed(text).map(parseNetwork);
    } catch {
      context.addIssue("must be addresses or ranges, such as 10.0.0.0/8");
      return z.NEVER;
    }
  });

/** Variables of the database. */
export const databaseVariables = {
  DATABASE_URL: databaseUrl,
  DATABASE_CA_FILE: authorityFile,
  DATABASE_POOL_SIZE: whole(10, 1, 200),
  DATABASE_TIMEOUT_MS: whole(10_000, 100, 600_000),
};

/** Variables of new accounts and of mail. */
export const mailVariables = {
  SIGN_UP: z.enum(["closed", "invite", "open"]).default("closed"),
  SMTP_HOST: z.string().trim().default(""),
  SMTP_PORT: whole(587, 1, 65_535),
  SMTP_SECURITY: z.enum(["starttls", "tls", "none"]).default("starttls"),
  SMTP_USER: z.string().default(""),
  SMTP_PASSWORD: z.string().default(""),
  SMTP_CA_FILE: authorityFile,
  MAIL_FROM: z
    .string()
    .trim()
    .default("")
    .refine(isSender, "must be one address, such as Joypod <joypod@example.com>"),
};

/** All variables of the API. The command line also reads some of them. */
export const Variables = z
  .object({
    ...databaseVariables,
    ...mailVariables,
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
      .string("must be set; in the chart, key passwordPepper of the secret named by api.existingSecret")
      .refine(
        (text) => text.length >= 16 && !isPlaceholder(text),
        "must be at least 16 random characters. Create one with 'openssl rand -base64 32'",
      ),
    BCRYPT_COST: whole(limits.auth.bcryptCost, 4, 16),
    PASSWORD_WORKERS: whole(Math.max(1, Math.min(4, availableParallelism() - 1)), 1, 32),
    TOKEN_LIFETIME_SECONDS: whole(limits.auth.tokenLifetimeSeconds, 60, 400 * 86_400),
    SESSION_MAX_SECONDS: whole(0, 0, 3650 * 86_400),
    AUTH_READS_PER_MINUTE: whole(limits.auth.readsPerIpPerMinute, 1, 1_000_000),
    AUTH_POSTS_PER_MINUTE: whole(limits.auth.postsPerIpPerMinute, 1, 1_000_000),
    MAIL_REQUESTS_PER_ADDRESS: whole(limits.auth.mailRequestsPerIpPerHour, 1, 100_000),
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
    LEAVE_GRACE_SECONDS: whole(limits.gameSession.leaveGraceSeconds, 10, 86_400),
    START_DEADLINE_SECONDS: whole(limits.gameSession.startDeadlineSeconds, 5, 3600),
    DOWNLOAD_DEADLINE_SECONDS: whole(limits.gameSession.downloadDeadlineSeconds, 5, 3600),
    MAX_DURATION_SECONDS: whole(limits.gameSession.maxDurationSeconds, 60, 7 * 86_400),
    PLAY_HOURS_PER_DAY: playHours(limits.gameSession.playHoursMax.perDay),
    PLAY_HOURS_PER_MONTH: playHours(limits.gameSession.playHoursMax.perMonth),
    PLAY_LIMIT_TIME_ZONE: z
      .string()
      .default("UTC")
      .refine(isTimeZone, "must be an IANA time zone, such as Europe/Berlin"),
    TTL_SECONDS_AFTER_FINISHED: whole(limits.gameSession.ttlSecondsAfterFinished, 0, 86_400),
    STOP_WAIT_SECONDS: whole(limits.gameSession.stopWaitSeconds, 1, 600),
    EVENT_HEARTBEAT_SECONDS: whole(limits.gameSession.eventHeartbeatSeconds, 1, 600),
    EXPIRY_WARNING_SECONDS: secondsList(limits.gameSession.expiryWarningSeconds),
    QUEUE_LENGTH: whole(limits.queue.length, 0, 10_000),
    LAUNCHES_PER_MINUTE: whole(limits.gameSession.launchesPerMinute, 1, 100_000),
    LAUNCHES_PER_HOUR: whole(limits.gameSession.launchesPerHour, 1, 100_000),
    POLLS_PER_MINUTE: whole(limits.gameSession.pollsPerMinute, 1, 1_000_000),
    CATALOG_REQUESTS_PER_MINUTE: whole(limits.catalog.requestsPerMinute, 1, 1_000_000),
    PARTNER_REQUESTS_PER_MINUTE: whole(limits.partner.requestsPerMinute, 1, 100_000),
    PARTNER_UPLOADS_PER_HOUR: whole(limits.partner.uploadsPerHour, 1, 100_000),
    GAME_VERIFY: z.enum(["never", "off", "report"]).default("never"),
    GAME_VERSIONS_KEPT: whole(limits.partner.versionsKept.default, 1, limits.partner.versionsKept.max),
    WEBHOOKS: isOn,
    WEBHOOK_ALLOW_HTTP: onOrOff("off"),
    WEBHOOK_ALLOWED_NETWORKS: networkList,
    WEBHOOK_DENIED_NETWORKS: networkList,
    WEBHOOK_NAMESERVERS: z
      .string()
      .default("")
      .transform(listed)
      .refine(areNameservers, "must be addresses, such as 192.0.2.53 or 192.0.2.53:5353"),
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
        message: `must be the secret of the relay in TURN_URLS: at least ${relaySecretMin} random characters. Create one with 'openssl rand -base64 48'`,
      });
    }
  });
