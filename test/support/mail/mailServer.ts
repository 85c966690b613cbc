import { readFileSync } from "node:fs";
import { text as readText } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import { toError } from "#runtime/errors.ts";
import { CertificateAuthority } from "../http/certificates.ts";
import { eventually } from "../clocks/eventually.ts";
import { freePort } from "../processes/childProgram.ts";

/** A mail that arrived. */
export interface ReceivedMail {
  /** Envelope recipients. */
  to: string[];
  subject: string;
  text: string;
}

const credentials = { user: "joypod", password: "smtp canary password" };

/** An SMTP server with STARTTLS and a password on the loopback address. It keeps every mail. */
export class MailServer {
  readonly mails: ReceivedMail[] = [];
  /** The API's environment to send by this server. */
  readonly env: Record<string, string>;
  /** Number of mails to refuse for now (451). */
  refusals = 0;
  readonly #server: SMTPServer;

  private constructor(server: SMTPServer, env: Record<string, string>) {
    this.#server = server;
    this.env = env;
  }

  static async start(): Promise<MailServer> {
    const authority = await CertificateAuthority.create();
    const { certificateFile, keyFile } = await authority.server("localhost", ["DNS:localhost"]);
    const port = await freePort();
    const server = new SMTPServer({
      key: readFileSync(keyFile),
      cert: readFileSync(certificateFile),
      authMethods: ["PLAIN", "LOGIN"],
      onAuth: ({ username, password }, _session, callback) => {
        if (username === credentials.user && password === credentials.password)
          callback(null, { user: username });
        else callback(new Error("wrong password"));
      },
      onRcptTo: (_address, _session, callback) => {
        if (mailServer.refusals > 0) {
          mailServer.refusals -= 1;
          callback(Object.assign(new Error("Try again later"), { responseCode: 451 }));
        } else callback();
      },
      onData: (stream, session, callback) => {
        readText(stream).then(
          (source) => {
            mailServer.mails.push(
              parse(
                source,
                session.envelope.rcptTo.map(({ address }) => address),
              ),
            );
            callback();
          },
          (error: unknown) => callback(toError(error)),
        );
      },
    });
    const mailServer = new MailServer(server, {
      SMTP_HOST: "localhost",
      SMTP_PORT: String(port),
      SMTP_USER: credentials.user,
      SMTP_PASSWORD: credentials.password,
      SMTP_CA_FILE: authority.certificateFile,
      MAIL_FROM: "Joypod <joypod@example.test>",
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "localhost", resolve);
    });
    server.on("error", () => undefined); // A client that leaves in the middle.
    return mailServer;
  }

  /** Waits for the next mail to the address and removes it. */
  async next(address: string): Promise<ReceivedMail> {
    return eventually(
      () => {
        const at = this.mails.findIndex(({ to }) => to.includes(address));
        return at >= 0 && this.mails.splice(at, 1)[0];
      },
      { what: `a mail to ${address}` },
    );
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(resolve));
  }
}

/** Returns the token of the first link in a mail or another text. */
export function tokenIn(text: string): string {
  const [, token] = /#([A-Za-z0-9_-]{43})\b/.exec(text) ?? [];
  if (token === undefined) throw new Error(`There is no link in: ${text}`);
  return token;
}

function parse(source: string, to: string[]): ReceivedMail {
  const [head = "", ...rest] = source.split("\r\n\r\n");
  const header = (name: string): string =>
    new RegExp(`^${name}: (.*(?:\r\n[ \t].*)*)`, "im").exec(head)?.[1]?.replaceAll(/\r\n\s+/g, " ") ?? "";
  const body = rest.join("\r\n\r\n");
  const isQuoted = header("Content-Transfer-Encoding") === "quoted-printable";
  return { to, subject: header("Subject"), text: isQuoted ? unquote(body) : body };
}

function unquote(text: string): string {
  const bytes = text
    .replaceAll("=\r\n", "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}
