import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { channelName } from "#contracts/http/gameChannels.ts";
import { RegisterGameRequest } from "#contracts/http/partners.ts";
import { slug } from "#contracts/http/text.ts";
import { messageOf } from "#runtime/errors.ts";
import { usageError } from "./publishError.ts";

/** The name of the file with a game's settings. */
export const configName = "joypod.json";

/** `joypod.json`: the address of the server, and the fields of a registration. */
const ConfigFile = RegisterGameRequest.partial().extend({
  $schema: z.string().optional(),
  url: z.string().optional(),
  channel: channelName.optional(),
});
/** The settings of a game. */
export type ConfigFile = z.infer<typeof ConfigFile>;

/** Environment variables. */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads `file`, or else `joypod.json` in the parent of the game's folder or in the current directory.
 *
 * @throws PublishError if the file is invalid, or `file` does not exist
 */
export function readConfigFile(file: string | undefined, folder: string | undefined): ConfigFile {
  const path = file ?? findConfigFile(folder);
  if (path === undefined) return {};
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw usageError(`${path} cannot be read: ${messageOf(error)}`);
  }
  const { data, error } = ConfigFile.safeParse(content);
  if (data !== undefined) return data;
  const problems = error.issues.map((issue) => `${issue.path.join(".") || "it"}: ${issue.message}`);
  throw usageError(`${path} is not valid. ${problems.join("; ")}`);
}

function findConfigFile(folder: string | undefined): string | undefined {
  const parents = folder === undefined ? ["."] : [dirname(resolve(folder)), "."];
  return parents.map((parent) => join(parent, configName)).find((path) => existsSync(path));
}

/** Returns the slug of the game. @throws PublishError if there is none, or it is invalid */
export function toSlug(option: string | undefined, config: ConfigFile): string {
  const wanted = option ?? config.slug;
  if (wanted === undefined) throw usageError(`Which game? Use --game SLUG, or set "slug" in ${configName}.`);
  if (slug.safeParse(wanted).success) return wanted;
  throw usageError(`"${wanted}" is not the slug of a game: 2 to 63 of a-z, 0-9 and inner dashes.`);
}

/** Returns the address of the server. @throws PublishError if there is none, or it is invalid */
export function toAddress(option: string | undefined, variables: Variables, config: ConfigFile): URL {
  const text = option ?? variables["JOYPOD_URL"] ?? config.url;
  if (text === undefined || text === "")
    throw usageError("Which server? Set JOYPOD_URL or --url to its address, such as https://joypod.example.");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["https:", "http:"].includes(url.protocol))
    throw usageError(`"${text}" is not the address of a server, such as https://joypod.example.`);
  if (url.username !== "" || url.password !== "")
    throw usageError("The address must not contain a password. The key is read from JOYPOD_API_KEY.");
  return new URL(url.pathname, url.origin);
}

/** Returns the partner's key. @throws PublishError if there is none */
export function toKey(variables: Variables): string {
  const key = variables["JOYPOD_API_KEY"]?.trim();
  if (key === undefined || key === "")
    throw usageError("Set JOYPOD_API_KEY to a key of the partner. The admin of the server creates it.");
  // Anything else would be an invalid header, and the error would show it.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw usageError("JOYPOD_API_KEY is not a key: it has invalid characters.");
  return key;
}

/** Returns whether anyone on the way to the server can read the key. */
export function isExposed({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && !/^(localhost|127\..*|\[::1\])$/.test(hostname);
}
