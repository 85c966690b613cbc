import { createTransport } from "nodemailer";
import type { Logger } from "#runtime/logger.ts";
import { backOffMs } from "#runtime/scheduling/backOff.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { BoundedQueue } from "#runtime/scheduling/boundedQueue.ts";
import { unavailable } from "../errors.ts";
import type { MailSettings } from "./mailSettings.ts";

/** A mail to one player. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
}

/** Timeouts of one attempt, in milliseconds. */
const timeouts = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 };
const attemptsMax = 3;
const retries = { baseMs: 1_000, maxMs: 5_000 };

interface MailerOptions {
  settings: MailSettings;
  clock: Clock;
  /** Called for each mail that was sent, or failed after all retries. */
  onDone?: (outcome: "sent" | "failed") => void;
}

/** Sends mail by SMTP. */
export class Mailer {
  readonly #transport: ReturnType<typeof createTransport>;
  readonly #clock: Clock;
  readonly #onDone: (outcome: "sent" | "failed") => void;
  readonly #closing = new AbortController();

  constructor({
    settings: { host, port, security, credentials, authorities, from },
    clock,
    onDone = () => undefined,
  }: MailerOptions) {
    this.#clock = clock;
    this.#onDone = onDone;
    this.#transport = createTransport(
      {
        host,
        port,
        secure: security === "tls",
        requireTLS: security === "starttls",
        ignoreTLS: security === "none",
        ...(credentials !== undefined && { auth: { user: credentials.user, pass: credentials.password } }),
        ...(authorities !== undefined && { tls: { ca: authorities } }),
        // Texts must not be able to attach files or addresses of this process.
        disableFileAccess: true,
        disableUrlAccess: true,
        ...timeouts,
      },
      { from },
    );
  }

  /**
   * Sends the mail. Temporary failures are retried twice.
   *
   * @throws the error of the last attempt
   */
  async send({ to, subject, text }: Mail): Promise<void> {
    for (let failures = 1; ; failures += 1) {
      try {
        // An object, so that the address is not parsed as a list.
        await this.#transport.sendMail({ to: { name: "", address: to }, subject, text });
        this.#onDone("sent");
        return;
      } catch (error) {
        if (failures === attemptsMax || isPermanent(error) || this.#closing.signal.aborted) {
          this.#onDone("failed");
          throw error;
        }
        await this.#clock.sleep(backOffMs(retries, failures, Math.random));
      }
    }
  }

  /** Ends retries. */
  close(): void {
    this.#closing.abort();
    this.#transport.close();
  }
}

/** Returns whether the server refused the mail for good (5xx) or the credentials are wrong. */
function isPermanent(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { responseCode, code } = error as { responseCode?: unknown; code?: unknown };
  return code === "EAUTH" || (typeof responseCode === "number" && responseCode >= 500);
}

const waitingMax = 200;
const concurrency = 4;

/**
 * Work that ends with a mail and goes on after its request was answered, so that the response time does not
 * reveal whether an account exists.
 */
export class MailWork {
  readonly #logger: Logger;
  readonly #pending = new Set<Promise<void>>();
  readonly #queue = new BoundedQueue({ concurrency, waitingMax, deadlineMs: 120_000, tooMany });

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Starts the work. Its errors are logged.
   *
   * @throws unavailable when too much other work waits
   */
  add(work: () => Promise<void>): void {
    if (this.#pending.size >= waitingMax) throw tooMany();
    const running = this.#queue
      .run(work)
      .catch((error: unknown) => this.#logger.error({ err: error }, "A mail could not be sent."))
      .finally(() => this.#pending.delete(running));
    this.#pending.add(running);
  }

  /** Resolves when all work is done, or after `ms`. */
  async settled(ms = 5_000): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), ms);
    await Promise.race([Promise.all(this.#pending), promise]);
    clearTimeout(timer);
  }
}

function tooMany(): Error {
  return unavailable("Too many mails are waiting to be sent. Try again in a few minutes.", undefined, 60);
}
