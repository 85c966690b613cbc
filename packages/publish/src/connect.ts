import type { Clock } from "#runtime/scheduling/clock.ts";
import { isExposed, toAddress, toKey, toSlug, type ConfigFile, type Variables } from "./config.ts";
import type { Progress, ProgressOutput } from "./output/progress.ts";
import { HttpClient } from "./server/httpClient.ts";
import { PartnerApi } from "./server/partnerApi.ts";
import type { RetryContext } from "./server/retry.ts";

/** The process environment of the commands. */
export interface Environment {
  variables: Variables;
  platform: NodeJS.Platform;
  clock: Clock;
  random: () => number;
  /** Prints a line to standard output. */
  print: (text: string) => void;
  /** Where progress and warnings are shown. */
  stderr: NodeJS.WriteStream | ProgressOutput;
  /** Aborted when the person interrupts the program. */
  signal: AbortSignal;
}

/** Options of all commands. */
export interface GlobalOptions {
  game?: string;
  url?: string;
  config?: string;
  json?: true;
}

/** A connection to the game on its server. */
export interface Connection {
  api: PartnerApi;
  retry: RetryContext;
}

/**
 * Returns the connection that options, variables and the settings of the game name.
 *
 * @throws PublishError if one is missing
 */
export function connect(
  { variables, clock, random, signal }: Environment,
  progress: Progress,
  options: GlobalOptions,
  config: ConfigFile,
): Connection {
  const address = toAddress(options.url, variables, config);
  const slug = toSlug(options.game, config);
  const key = toKey(variables);
  if (isExposed(address))
    progress.note(`Warning: ${address.origin} is not encrypted. Others on the network can read the key.`);
  const retry: RetryContext = {
    clock,
    random,
    signal,
    onRetry: ({ message }, delayMs) =>
      progress.note(`${message} Trying again in ${Math.ceil(delayMs / 1000)} s.`),
  };
  return { api: new PartnerApi(new HttpClient(address, key, signal), slug, retry), retry };
}
