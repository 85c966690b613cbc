import { createHash } from "node:crypto";
import { isRecord } from "#kube/client/decode.ts";

/** What ids consist of, by the schema of GameSessions (`spec.userId`). */
const words = /[\w-]+/g;
const isWord = /^[\w-]+$/;

/** Calls players by other names, in time that does not grow with their number. */
class PlayerNames {
  /** By the id: what stands in its place. */
  readonly #names: ReadonlyMap<string, string>;
  /** How long ids are, the longest first: one may begin as another does. */
  readonly #lengths: readonly number[];
  readonly #shortest: number;
  /** Ids that the schema refuses: each is looked for by itself. */
  readonly #unusual: readonly string[];

  constructor(ids: readonly string[]) {
    const usual = ids.filter((id) => isWord.test(id));
    this.#names = new Map(usual.map((id) => [id, otherNameOf(id)]));
    this.#lengths = [...new Set(usual.map(({ length }) => length))].sort((a, b) => b - a);
    this.#shortest = this.#lengths.at(-1) ?? Infinity;
    this.#unusual = ids.filter((id) => !isWord.test(id)).sort((a, b) => b.length - a.length);
  }

  /**
   * Returns the text with another name in the place of each id, also where an id is a part of a longer word.
   */
  replaceIn(text: string): string {
    let replaced = text;
    for (const id of this.#unusual) replaced = replaced.replaceAll(id, otherNameOf(id));
    return replaced.replaceAll(words, (word) => this.#replaceWithin(word));
  }

  #replaceWithin(word: string): string {
    let replaced = "";
    let at = 0;
    while (at <= word.length - this.#shortest) {
      const player = this.#playerAt(word, at);
      replaced += player?.name ?? word.charAt(at);
      at += player?.id.length ?? 1;
    }
    return replaced + word.slice(at);
  }

  #playerAt(word: string, at: number): { id: string; name: string } | undefined {
    for (const length of this.#lengths) {
      const id = word.slice(at, at + length);
      const name = this.#names.get(id);
      if (name !== undefined) return { id, name };
    }
    return undefined;
  }
}

/** Returns the name of a player, which is the same everywhere and does not tell the id. */
function otherNameOf(player: string): string {
  return `player-${createHash("sha256").update(player).digest("hex").slice(0, 8)}`;
}

/** Names of fields, variables and values whose content nobody but the installation may know. */
const secretName =
  /pass(word|phrase|wd)?$|secret(Key|AccessKey)?$|token$|credential|pepper|signing_?key|private_?key|access_?key|api_?key|authorization|cookie|database_?url|redis_?url|dsn$/i;
/** Fields that only say which Secret is used, or that a Secret is used at all. */
const harmlessName =
  /^(existing|ca|pull|tls)?Secret(Name|s|Ref|KeyRef)?$|^imagePullSecrets$|^automountServiceAccountToken$/;
/** Fields that repeat others, or hold what the rest of the object says better. */
const dropped = new Set([
  "managedFields",
  "kubectl.kubernetes.io/last-applied-configuration",
  "ticketPublicKey",
]);

const patterns: readonly { found: RegExp; by: string }[] = [
  { found: /-----BEGIN [A-Z ]+-----[\s\S]*?-----END [A-Z ]+-----/g, by: "[redacted: PEM]" },
  { found: /\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g, by: "[redacted: token]" },
  { found: /\bjoypod_live_[0-9a-z_]{10,}/g, by: "[redacted: key]" },
  { found: /\b(bearer|basic) +[\w.~+/=-]{8,}/gi, by: "$1 [redacted]" },
  { found: /(\w+:\/\/)[^\s/:@"']*:[^\s/@"']+@/g, by: "$1[redacted]@" },
  {
    found:
      /((?:session-token|csrf-token|ice-pwd|ice-ufrag|X-Amz-Signature|X-Amz-Credential)[=:] ?)[^\s;"'&\\]+/gi,
    by: "$1[redacted]",
  },
  { found: /[\w.+%'-]+@[\w-]+(?:\.[\w-]+)+/g, by: "[redacted: e-mail]" },
];
/** As the programs log who asked: players are in their logs who have no session any more. */
const playerField = /("(?:user|userId)":|"kind":"user","id":)"(?!player-[0-9a-f]{8}")([^"\\]{6,128})"/g;
const ipv4 = /(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?!\d)/g;
/** Eight groups, or fewer with `::`; three groups with colons are a time of day. */
const ipv6 =
  /(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?::(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?)(?![\w:])/gi;
/** Shorter ones would take ordinary words with them. */
const shortestSecret = 6;

/** What the redactor is told of the installation. */
export interface RedactorOptions {
  /** Values of its Secrets, as they are. */
  secrets: readonly string[];
  /** Addresses of the cluster's own machines and pods, which are no player's. */
  ownAddresses: ReadonlySet<string>;
  /** Ids of players. */
  players: readonly string[];
}

/**
 * Takes out of texts and objects what a support bundle must not hold: secrets, e-mails, tickets, keys, and
 * players' ids and addresses.
 */
export class Redactor {
  readonly #secrets: readonly string[];
  readonly #ownAddresses: ReadonlySet<string>;
  readonly #players: PlayerNames;

  constructor({ secrets, ownAddresses, players }: RedactorOptions) {
    const spelled = secrets
      .filter((secret) => secret.length >= shortestSecret)
      .flatMap((secret) => [
        secret,
        secret.trim(),
        Buffer.from(secret).toString("base64"),
        encodeURIComponent(secret),
        JSON.stringify(secret).slice(1, -1),
      ]);
    // The longest first: one may be a part of another.
    this.#secrets = [...new Set(spelled)]
      .filter((secret) => secret.length >= shortestSecret)
      .sort((a, b) => b.length - a.length);
    this.#ownAddresses = ownAddresses;
    this.#players = new PlayerNames(players.filter((id) => id.length >= shortestSecret));
  }

  /** Returns the text without what it must not hold. A player is always called by the same other name. */
  text(text: string): string {
    let redacted = text;
    for (const secret of this.#secrets) redacted = redacted.replaceAll(secret, "[redacted: secret]");
    redacted = this.#players
      .replaceIn(redacted)
      .replaceAll(playerField, (_, field: string, id: string) => `${field}"${otherNameOf(id)}"`);
    for (const { found, by } of patterns) redacted = redacted.replaceAll(found, by);
    const address = (found: string): string =>
      this.#ownAddresses.has(found) || isNobodys(found) ? found : "[redacted: address]";
    return redacted.replaceAll(ipv4, address).replaceAll(ipv6, address);
  }

  /** Returns a copy of the value without fields of secrets, and with its texts redacted. */
  value(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((entry) => this.value(entry));
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([name]) => !dropped.has(name))
        .map(([name, content]) => [name, this.#field(name, content, value)]),
    );
  }

  #field(name: string, content: unknown, owner: Record<string, unknown>): unknown {
    const isText =
      typeof content === "string" ||
      typeof content === "number" ||
      (Array.isArray(content) && content.every((entry) => typeof entry === "string"));
    if (isText && secretName.test(name) && !harmlessName.test(name)) return "[redacted]";
    // A variable of a container: its name says what its value is.
    if (isText && name === "value" && typeof owner.name === "string" && secretName.test(owner.name))
      return "[redacted]";
    return this.value(content);
  }
}

/**
 * Loopback and wildcard addresses are no machine's, and a version such as 1.2.3.4 with a number above 255 is
 * no address.
 */
function isNobodys(address: string): boolean {
  return (
    /^127\.|^0\.0\.0\.0$|^::1?$/.test(address) ||
    (address.includes(".") && address.split(".").some((part) => Number(part) > 255))
  );
}
