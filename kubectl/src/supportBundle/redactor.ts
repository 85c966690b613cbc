import { createHash } from "node:crypto";
import { isRecord } from "#kube/client/decode.ts";

/** Characters of ids, as in the schema of GameSessions (`spec.userId`). */
const words = /[\w-]+/g;
const isWord = /^[\w-]+$/;

/** Replaces player ids with pseudonyms, in a time that does not grow with the number of players. */
class PlayerNames {
  /** Pseudonyms by id. */
  readonly #names: ReadonlyMap<string, string>;
  /** Lengths of ids, longest first, because one id may be the start of another. */
  readonly #lengths: readonly number[];
  readonly #shortest: number;
  /** Ids that the schema rejects. They are searched for individually. */
  readonly #unusual: readonly string[];

  constructor(ids: readonly string[]) {
    const usual = ids.filter((id) => isWord.test(id));
    this.#names = new Map(usual.map((id) => [id, otherNameOf(id)]));
    this.#lengths = [...new Set(usual.map(({ length }) => length))].sort((a, b) => b - a);
    this.#shortest = this.#lengths.at(-1) ?? Infinity;
    this.#unusual = ids.filter((id) => !isWord.test(id)).sort((a, b) => b.length - a.length);
  }

  /** Returns the text with every id replaced by its pseudonym, even inside a longer word. */
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

/** Returns the pseudonym of a player: always the same, and without revealing the id. */
function otherNameOf(player: string): string {
  return `player-${createHash("sha256").update(player).digest("hex").slice(0, 8)}`;
}

/** Names of fields, variables and values with secret content. */
const secretName =
  /pass(word|phrase|wd)?$|secret(Key|AccessKey)?$|token$|credential|pepper|signing_?key|private_?key|access_?key|api_?key|authorization|cookie|database_?url|redis_?url|dsn$/i;
/** Fields that only name a Secret, or say whether one is used. */
const harmlessName =
  /^(existing|ca|pull|tls)?Secret(Name|s|Ref|KeyRef)?$|^imagePullSecrets$|^automountServiceAccountToken$/;
/** Fields that repeat others, or whose content the rest of the object shows better. */
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
/** The user fields in the programs' logs, which also contain players without a current session. */
const playerField = /("(?:user|userId)":|"kind":"user","id":)"(?!player-[0-9a-f]{8}")([^"\\]{6,128})"/g;
const ipv4 = /(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?!\d)/g;
/** Eight groups, or fewer with `::`. Three groups with colons are a time of day. */
const ipv6 =
  /(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?::(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?)(?![\w:])/gi;
/** Redacting shorter secrets would also remove ordinary words. */
const shortestSecret = 6;

/** What the redactor knows about the installation. */
export interface RedactorOptions {
  /** Unencoded values of its Secrets. */
  secrets: readonly string[];
  /** Addresses of the cluster's machines and pods, which do not identify players. */
  ownAddresses: ReadonlySet<string>;
  /** Ids of players. */
  players: readonly string[];
}

/**
 * Redacts what a support bundle must not contain from texts and objects: secrets, e-mail addresses, tickets,
 * keys, and players' ids and addresses.
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
    // Longest first, because one secret may be part of another.
    this.#secrets = [...new Set(spelled)]
      .filter((secret) => secret.length >= shortestSecret)
      .sort((a, b) => b.length - a.length);
    this.#ownAddresses = ownAddresses;
    this.#players = new PlayerNames(players.filter((id) => id.length >= shortestSecret));
  }

  /** Returns the redacted text. A player always has the same pseudonym. */
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

  /** Returns a copy of the value with redacted texts. The values of secret fields are removed. */
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
    // A container's environment variable: its name tells whether the value is secret.
    if (isText && name === "value" && typeof owner.name === "string" && secretName.test(owner.name))
      return "[redacted]";
    return this.value(content);
  }
}

/**
 * Loopback and wildcard addresses do not identify a machine, and a version such as 1.2.3.400 is not an
 * address.
 */
function isNobodys(address: string): boolean {
  return (
    /^127\.|^0\.0\.0\.0$|^::1?$/.test(address) ||
    (address.includes(".") && address.split(".").some((part) => Number(part) > 255))
  );
}
