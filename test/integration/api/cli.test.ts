import bcrypt from "bcryptjs";
import { expect } from "chai";
import { spawn } from "node:child_process";
import { Readable } from "node:stream";
import pg from "pg";
import { DomainError } from "#api/errors.ts";
import { importUsers } from "#api/accounts/createUser.ts";
import { aGame, aGameSessionRow, aSaveSlot, aUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { postSignIn } from "#test/support/http/authForms.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";
import { MailServer, tokenIn } from "#test/support/mail/mailServer.ts";
import { rowsOf } from "#test/support/openapi/storedState.ts";
import { createEmptyDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";
import { joypodProgram } from "#test/support/processes/controlPlaneProgram.ts";

interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

const pepper = "pepper of the tests";

describe("joypod", function () {
  this.timeout(120_000);
  let database: TestDatabase;
  let api: TestApi;

  before(async () => {
    database = await createEmptyDatabase();
    const [first, second] = await Promise.all([joypod(["migrate", "--json"]), joypod(["migrate", "--json"])]);
    expect([first.code, second.code], first.stdout + second.stdout).to.deep.equal([0, 0]);
    const applied = [first, second].map(
      ({ stdout }) => (JSON.parse(stdout) as { applied: string[] }).applied,
    );
    expect(applied.flat()).to.include("20261129000000_baseline");
    expect(
      applied.filter((names) => names.length === 0),
      "one of two at once finds nothing to do",
    ).to.have.length(1);
    api = await TestApi.start({ database, env: { PASSWORD_PEPPER: pepper } });
  });
  after(async () => {
    await api.stop();
    await database.drop();
  });

  function joypod(
    args: string[],
    { stdin = "", env = {} }: { stdin?: string; env?: Record<string, string | undefined> } = {},
  ): Promise<Outcome> {
    const [program = "", ...first] = joypodProgram();
    const child = spawn(program, [...first, ...args], {
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: database.url,
        PASSWORD_PEPPER: pepper,
        BCRYPT_COST: "4",
        ...env,
      },
    });
    const outcome = { stdout: "", stderr: "" };
    child.stdout.on("data", (text: Buffer) => (outcome.stdout += text.toString()));
    child.stderr.on("data", (text: Buffer) => (outcome.stderr += text.toString()));
    child.stdin.end(stdin);
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve({ code, ...outcome }));
    });
  }

  it("migrates once, and does nothing the second time", async () => {
    expect(await joypod(["migrate"])).to.deep.equal({
      code: 0,
      stdout: "The database is up to date.\n",
      stderr: "",
    });
  });

  it("applies a migration entirely or not at all, and applies it after the cause of a failure is fixed", async () => {
    const empty = await createEmptyDatabase();
    const client = new pg.Client({ connectionString: empty.url });
    await client.connect();
    try {
      await client.query("CREATE FUNCTION refuse_change() RETURNS int LANGUAGE sql RETURN 1");
      const failed = await joypod(["migrate"], { env: { DATABASE_URL: empty.url } });
      expect(failed.code).to.equal(1);
      expect(failed.stderr).to.contain("refuse_change");
      expect((await client.query("SELECT to_regclass('users') AS found")).rows).to.deep.equal([
        { found: null },
      ]);
      await client.query("DROP FUNCTION refuse_change()");
      expect((await joypod(["migrate"], { env: { DATABASE_URL: empty.url } })).code).to.equal(0);
    } finally {
      await client.end();
      await empty.drop();
    }
  });

  it("creates a player who can sign in, only once", async () => {
    const args = [
      "user",
      "create",
      "--email",
      " New.Player@Example.test",
      "--name",
      "New Player",
      "--password-stdin",
      "--json",
    ];
    const created = await joypod(args, { stdin: "correct horse battery\n" });
    expect(created.code, created.stdout + created.stderr).to.equal(0);
    const user = JSON.parse(created.stdout) as { id: string; email: string };
    expect(user).to.deep.include({ email: "new.player@example.test", name: "New Player" });
    const signIn = await postSignIn(api.anonymous(), {
      email: "new.player@example.test",
      password: "correct horse battery",
    });
    expect(signIn.status, signIn.text).to.equal(200);
    const again = await joypod(args, { stdin: "another password" });
    expect(again.code).to.equal(3);
    expect(JSON.parse(again.stdout)).to.deep.equal({
      error: "exists",
      message: "User new.player@example.test already exists.",
      id: user.id,
      email: "new.player@example.test",
    });
  });

  it("names invalid player data, and changes nothing", async () => {
    const create = (email: string, name: string, stdin: string, env = {}): Promise<Outcome> =>
      joypod(["user", "create", "--email", email, "--name", name, "--password-stdin"], { stdin, env });
    expect(await create("nonsense", "A", "long enough")).to.deep.equal({
      code: 2,
      stdout: "",
      stderr: '"nonsense" is not an e-mail address.\n',
    });
    expect((await create("a@example.test", " ", "long enough")).stderr).to.contain("The name must have");
    expect((await create("a@example.test", "A", "short")).stderr).to.contain("The password must have 8");
    const common = await create("a@example.test", "A", "Password123");
    expect(common.stderr).to.contain("too common");
    expect(common.code).to.equal(2);
    expect(
      (await create("a@example.test", "A", "long enough", { PASSWORD_PEPPER: undefined })).stderr,
    ).to.contain("PASSWORD_PEPPER is not set");
    expect((await joypod(["user", "create", "--email", "a@example.test"])).code).to.equal(2);
    expect(await api.deps.postgres.prisma.user.count({ where: { email: "a@example.test" } })).to.equal(0);
  });

  describe("user invite and reset-link", () => {
    const env = { BASE_URL: "https://play.test", SIGN_UP: "invite" };
    interface Printed {
      url: string;
      email: string;
      isMailed: boolean;
    }

    it("print links that work once, and mail them if there is a mail server", async () => {
      const mail = await MailServer.start();
      const site = await TestApi.start({ database, env: { SIGN_UP: "invite", PASSWORD_PEPPER: pepper } });
      try {
        const invited = await joypod(["user", "invite", "Guest@Example.test", "--json"], {
          env: { ...env, ...mail.env },
        });
        const { url, email, isMailed } = JSON.parse(invited.stdout) as Printed;
        expect({ email, isMailed }).to.deep.equal({ email: "guest@example.test", isMailed: true });
        expect(url).to.match(/^https:\/\/play\.test\/invitation#/);
        expect((await mail.next(email)).text).to.contain(url);
        const again = await joypod(["user", "invite", email], { env });
        expect(again.stdout).to.contain("Give it to guest@example.test");
        const accept = (text: string) =>
          site.anonymous().post("/api/auth/accept-invitation", {
            token: tokenIn(text),
            name: "Guest",
            password: "long enough 1",
          });
        expectErrorResponse(await accept(url), 404, "invalid_link");
        expect((await accept(again.stdout)).status).to.equal(204);
        expectErrorResponse(await accept(again.stdout), 404, "invalid_link");
        expect((await joypod(["user", "invite", email], { env })).code).to.equal(3);

        const reset = await joypod(["user", "reset-link", email], {
          env: { ...env, ...mail.env, SMTP_PASSWORD: "wrong" },
        });
        expect(reset.stdout).to.contain("It could not be mailed (").and.not.contain(pepper);
        const changed = await site
          .anonymous()
          .post("/api/auth/reset-password", { token: tokenIn(reset.stdout), newPassword: "long enough 2" });
        expect(changed.status, changed.text).to.equal(204);
        expect((await postSignIn(api.anonymous(), { email, password: "long enough 2" })).status).to.equal(
          200,
        );
      } finally {
        await site.stop();
        await mail.stop();
      }
    });

    it("say what is missing", async () => {
      const closed = await joypod(["user", "invite", "a@b.test"], { env: { BASE_URL: "https://play.test" } });
      expect(closed.code).to.equal(2);
      expect(closed.stderr).to.contain("Set auth.signUp (SIGN_UP) to invite or open");
      expect((await joypod(["user", "invite", "a@b.test"])).stderr).to.contain("BASE_URL");
      expect((await joypod(["user", "invite", "a, b@c.test"], { env })).code).to.equal(2);
      expect((await joypod(["user", "reset-link", "nobody@example.test"], { env })).code).to.equal(4);
    });
  });

  it("changes a player's password, disables and enables them, and ends their sign-ins in the next request", async () => {
    const user = await aUser(api.deps);
    const env = { REDIS_URL: api.deps.config.redis.url };
    const email = ["--email", user.email.toUpperCase()];
    const signedIn = async (): Promise<ApiClient[]> => {
      const browsers = [api.as(user), api.as(user)];
      for (const browser of browsers) expect((await browser.get("/api/games")).status).to.equal(200);
      return browsers;
    };
    const expectEnded = async (browsers: ApiClient[]): Promise<void> => {
      for (const browser of browsers)
        expectErrorResponse(await browser.get("/api/games"), 401, "unauthorized");
    };

    let browsers = await signedIn();
    const changed = await joypod(["user", "set-password", ...email, "--password-stdin", "--json"], {
      stdin: "another password\n",
      env,
    });
    expect(JSON.parse(changed.stdout)).to.deep.equal({
      id: user.id,
      email: user.email,
      endedSignIns: 2,
      isAnnounced: true,
    });
    await expectEnded(browsers);
    expectErrorResponse(await postSignIn(api.anonymous(), user), 401, "invalid_credentials");
    const renewed = { ...user, password: "another password" };
    expect((await postSignIn(api.anonymous(), renewed)).status).to.equal(200);

    browsers = await signedIn();
    expect((await joypod(["user", "disable", ...email], { env })).stdout).to.equal(
      `The player ${user.email} is disabled. Sign-ins ended: 3.\n`,
    );
    await expectEnded(browsers);
    expectErrorResponse(await postSignIn(api.anonymous(), renewed), 401, "account_disabled");
    expect((await joypod(["user", "enable", ...email], { env })).code).to.equal(0);
    expect((await postSignIn(api.anonymous(), renewed)).status).to.equal(200);
    await expectEnded(browsers);

    const silent = await joypod(["user", "disable", ...email]);
    expect(silent.stdout).to.contain("The API was not notified");
    expect(
      (await joypod(["user", "set-password", ...email, "--password-stdin"], { stdin: "short" })).code,
    ).to.equal(2);
    expect((await joypod(["user", "disable", "--email", "nobody@example.test"])).code).to.equal(4);
    const trail = await api.deps.postgres.prisma.auditEvent.findMany({
      where: { subjectId: user.id },
      orderBy: { id: "asc" },
    });
    expect(trail.map(({ action }) => action)).to.deep.equal([
      "user.passwordChanged",
      "user.disabled",
      "signIn.refused",
      "user.enabled",
      "user.disabled",
    ]);
  });

  it("takes a player's address, id or unique name, with or without --email", async () => {
    const [user, namesake] = [
      await aUser(api.deps, { name: "Lovelace" }),
      await aUser(api.deps, { name: "Hopper" }),
    ];
    await aUser(api.deps, { name: "hopper" });
    const disabledAt = async (): Promise<Date | null> =>
      (await api.deps.postgres.prisma.user.findUniqueOrThrow({ where: { id: user.id } })).disabledAt;
    for (const args of [
      ["disable", user.email.toUpperCase()],
      ["enable", user.id],
      ["disable", "lovelace"],
      ["enable", "--email", user.email],
    ]) {
      expect((await joypod(["user", ...args])).code, args.join(" ")).to.equal(0);
      expect((await disabledAt()) !== null, args.join(" ")).to.equal(args[0] === "disable");
    }
    const ambiguous = await joypod(["user", "delete", "Hopper"]);
    expect(ambiguous.code).to.equal(2);
    expect(ambiguous.stderr).to.contain(namesake.email);
    for (const player of [[], [user.email, "--email", user.email]])
      expect((await joypod(["user", "disable", ...player])).code, player.join(" ")).to.equal(2);
  });

  it("does not take a name that looks like an address for a player", async () => {
    await aUser(api.deps, { name: "gone@example.test" });
    expect((await joypod(["user", "delete", "gone@example.test"])).code).to.equal(4);
  });

  it("gives a player another address, with which they sign in", async () => {
    const [user, other] = [await aUser(api.deps), await aUser(api.deps)];
    const taken = await joypod(["user", "change-address", user.email, other.email.toUpperCase(), "--json"]);
    expect(taken.code, taken.stderr).to.equal(3);
    expect((await joypod(["user", "change-address", user.email, "no address"])).code).to.equal(2);
    const email = "renamed@example.test";
    expect((await joypod(["user", "change-address", user.id, " Renamed@Example.test"])).stdout).to.equal(
      `The player ${user.email} has the address ${email} now, and signs in with it.\n`,
    );
    expectErrorResponse(await postSignIn(api.anonymous(), user), 401, "invalid_credentials");
    expect((await postSignIn(api.anonymous(), { ...user, email })).status).to.equal(200);
    const { emailVerifiedAt } = await api.deps.postgres.prisma.user.findUniqueOrThrow({ where: { email } });
    expect(emailVerifiedAt).to.not.equal(null);
    const trail = await api.deps.postgres.prisma.auditEvent.findMany({ where: { subjectId: user.id } });
    expect(trail.map(({ action, actorKind }) => [action, actorKind])).to.deep.include([
      "user.emailChanged",
      "operator",
    ]);
  });

  it("deletes a player with all their data once they have no active session", async () => {
    const { prisma } = api.deps.postgres;
    const user = await aUser(api.deps);
    const game = await aGame(api.deps);
    const slot = await aSaveSlot(api.deps, { user, game });
    const browser = api.as(user);
    expect(
      (await browser.post("/api/favorites", { gameId: game.id }, { "idempotency-key": "one" })).status,
    ).to.be.below(300);
    const session = await aGameSessionRow(api.deps, { user, game }, { slotId: slot.id });
    const remove = (): Promise<Outcome> =>
      joypod(["user", "delete", "--email", user.email, "--json"], {
        env: { REDIS_URL: api.deps.config.redis.url },
      });

    const refused = await remove();
    expect(refused.code, refused.stdout).to.equal(5);
    expect(JSON.parse(refused.stdout)).to.include({ error: "in_use", sessionId: session.id });
    expect((await browser.get("/api/games")).status).to.equal(200);

    await prisma.gameSession.update({
      where: { id: session.id },
      data: { status: "stopped", endedAt: new Date() },
    });
    expect(JSON.parse((await remove()).stdout)).to.deep.equal({
      id: user.id,
      email: user.email,
      endedSignIns: 1,
      isAnnounced: true,
    });
    expectErrorResponse(await browser.get("/api/games"), 401, "unauthorized");
    expectErrorResponse(await postSignIn(api.anonymous(), user), 401, "invalid_credentials");
    const { audit_events, save_sweeps, ...tables } = await rowsOf(api);
    expect(JSON.stringify(tables)).to.not.contain(user.id).and.not.contain(user.email);
    expect(JSON.stringify(audit_events)).to.contain("user.deleted").and.not.contain(user.email);
    expect(JSON.stringify(save_sweeps), "whose saves are to be removed").to.contain(slot.id);
    expect((await remove()).code).to.equal(4);
  });

  it("ends a deleted player's sign-ins, even when the API could not be notified", async () => {
    const user = await aUser(api.deps);
    const game = await aGame(api.deps);
    const browser = api.as(user);
    expect((await browser.get("/api/games")).status).to.equal(200);
    const deleted = await joypod(["user", "delete", "--email", user.email]);
    expect(deleted.stdout)
      .to.contain(`The player ${user.email} is deleted.`)
      .and.contain("The API was not notified");
    expectErrorResponse(await browser.post("/api/favorites", { gameId: game.id }), 401, "unauthorized");
    expect((await browser.get("/api/auth/session")).json()).to.deep.equal({});
  });

  describe("user import", () => {
    const env = { BCRYPT_COST: "10" };
    const lineOf = (user: Record<string, unknown>): string => `${JSON.stringify(user)}\n`;
    const linesOf = (text: string): AsyncIterable<string> => Readable.from(text.split("\n"));
    const importing = (stdin: string): Promise<Outcome> =>
      joypod(["user", "import", "--json"], { stdin, env });
    let passwordHash: string;

    before(async () => {
      passwordHash = await bcrypt.hash("a".repeat(72), 10);
    });

    it("imports players with their passwords, and replaces the imported hash at the first sign-in", async () => {
      const email = "moved.player@example.test";
      const lines = `${lineOf({ email: " Moved.Player@example.test", name: "Moved", passwordHash: passwordHash.replace("$2b$", "$2y$") })}\r\n${lineOf({ email: "other@example.test", name: "O", passwordHash, emailVerified: true })}`;
      const first = await importing(lines);
      expect([first.code, first.stdout]).to.deep.equal([0, '{"created":2,"existing":0}\n']);
      expect((await importing(lines)).stdout).to.equal('{"created":0,"existing":2}\n');
      const rowOf = (
        address: string,
      ): Promise<{ id: string; passwordHash: string | null; emailVerifiedAt: Date | null }> =>
        api.deps.postgres.prisma.user.findUniqueOrThrow({ where: { email: address } });
      expect((await rowOf(email)).emailVerifiedAt).to.be.null;
      expect((await rowOf("other@example.test")).emailVerifiedAt).to.be.a("date");

      expectErrorResponse(
        await postSignIn(api.anonymous(), { email, password: `${"a".repeat(72)}b` }),
        401,
        "invalid_credentials",
      );
      const before = await rowOf(email);
      expect(before.passwordHash).to.contain(passwordHash.slice(7));
      expect((await postSignIn(api.anonymous(), { email, password: "a".repeat(72) })).status).to.equal(200);
      const after = await rowOf(email);
      expect(after.passwordHash).to.match(/^\$2b\$04\$/);
      expect((await postSignIn(api.anonymous(), { email, password: "a".repeat(72) })).status).to.equal(200);
      expectErrorResponse(
        await postSignIn(api.anonymous(), { email, password: `${"a".repeat(72)}b` }),
        401,
        "invalid_credentials",
      );
      expect((await importing(lines)).stdout, "a changed account stays as it is").to.equal(
        '{"created":0,"existing":2}\n',
      );
      expect(await rowOf(email)).to.deep.equal(after);
      const trail = await api.deps.postgres.prisma.auditEvent.findMany({
        where: { action: "user.imported", subjectId: after.id },
      });
      expect(trail.map(({ actorKind }) => actorKind)).to.deep.equal(["operator"]);
    });

    it("names the first invalid line, and never the hash", async () => {
      const good = lineOf({ email: "unseen@example.test", name: "U", passwordHash });
      const wrong: [Record<string, unknown> | string, string][] = [
        ["{", "The line must be"],
        [[], "The line must be"],
        [{ email: "x@example.test", name: "X" }, "passwordHash"],
        [{ email: "x@example.test", name: "X", passwordHash, role: "admin" }, "role"],
        [{ email: "nobody", name: "X", passwordHash }, "not an e-mail address"],
        [{ email: "x@example.test", name: " ", passwordHash }, "The name must have"],
        [
          { email: "x@example.test", name: "X", passwordHash: "5f4dcc3b5aa765d61d8327deb882cf99" },
          "must be a bcrypt hash",
        ],
        [
          { email: "x@example.test", name: "X", passwordHash: passwordHash.replace("$10$", "$09$") },
          "has cost 9. It must be between 10 and 10",
        ],
        [
          { email: "x@example.test", name: "X", passwordHash: passwordHash.replace("$10$", "$11$") },
          "has cost 11",
        ],
        [{ email: "x@example.test", name: "X".repeat(9000), passwordHash }, "characters"],
      ].map(([line, message]) => [line as string, message as string]);
      for (const [line, message] of wrong) {
        const text = `${good}\n${typeof line === "string" ? line : lineOf(line)}`;
        const failure: unknown = await importUsers(api.deps, linesOf(text), 10).catch(
          (error: unknown) => error,
        );
        expect(failure, message)
          .to.be.instanceOf(DomainError)
          .and.deep.include({ code: "invalid_request", extra: { line: "3" } });
        expect(String(failure))
          .to.contain(message)
          .and.not.contain(passwordHash.slice(7))
          .and.not.contain("5f4dcc3b");
      }
      const { code, stdout } = await importing(`${good}{`);
      expect([code, JSON.parse(stdout)]).to.deep.equal([
        2,
        {
          error: "invalid",
          line: "2",
          message:
            'Line 2: The line must be {"email", "name", "passwordHash", "emailVerified"?} (Invalid input: expected object, received undefined). 0 players were created before it. Correct the line and run the import again.',
        },
      ]);
      expect(await api.deps.postgres.prisma.user.count({ where: { email: "unseen@example.test" } })).to.equal(
        0,
      );
    });

    it("reads files of any size", async () => {
      const count = 1_201;
      const lines = Array.from({ length: count }, (_, at) =>
        lineOf({ email: `many-${at}@example.test`, name: `Player ${at}`, passwordHash }),
      );
      expect((await importing(lines.join(""))).stdout).to.equal(`{"created":${count},"existing":0}\n`);
      expect(
        await api.deps.postgres.prisma.auditEvent.count({ where: { action: "user.imported" } }),
      ).to.equal(count + 2);
    });
  });

  it("creates a partner and at most two keys, which work until they are revoked", async () => {
    const partner = await joypod(["partner", "create", "--name", "Studio North", "--json"]);
    expect(partner.code, partner.stdout).to.equal(0);
    expect((await joypod(["partner", "create", "--name", "Studio North"])).code).to.equal(3);
    const issue = async (...more: string[]): Promise<Outcome> =>
      joypod(["partner", "key", "create", "--partner", "Studio North", "--json", ...more]);
    const first = JSON.parse((await issue()).stdout) as {
      key: string;
      keyId: string;
      expiresAt: null;
      partner: string;
    };
    expect(first).to.deep.include({ partner: "Studio North", expiresAt: null });
    const second = JSON.parse((await issue("--expires-in-days", "7")).stdout) as {
      key: string;
      expiresAt: string;
    };
    expect(Date.parse(second.expiresAt) - Date.now()).to.be.within(6.9 * 86_400_000, 7.1 * 86_400_000);
    const third = await issue();
    expect(third.code).to.equal(3);
    expect(JSON.parse(third.stdout)).to.include({ error: "exists" });

    expect((await api.asPartner(first).get("/api/partners/games")).status).to.equal(200);
    expect((await api.asPartner(second).get("/api/partners/games")).status).to.equal(200);
    expect((await joypod(["partner", "key", "revoke", "--key", first.keyId])).code).to.equal(0);
    expect((await joypod(["partner", "key", "revoke", "--key", first.keyId, "--json"])).code).to.equal(0);
    expectErrorResponse(await api.asPartner(first).get("/api/partners/games"), 401, "unauthorized");
    expect((await issue()).code).to.equal(0);
    const stored = await api.deps.postgres.prisma.partnerKey.findMany();
    expect(JSON.stringify(stored)).to.not.contain(first.key);
    const revocations = await api.deps.postgres.prisma.auditEvent.count({
      where: { action: "partnerKey.revoked" },
    });
    expect(revocations).to.equal(1);
  });

  it("suspends and resumes a partner, and lists keys without their secrets", async () => {
    expect((await joypod(["partner", "create", "--name", "Studio South"])).code).to.equal(0);
    const { key, keyId } = JSON.parse(
      (await joypod(["partner", "key", "create", "--partner", "Studio South", "--json"])).stdout,
    ) as { key: string; keyId: string };
    const change = async (verb: string): Promise<{ suspendedAt: string | null }> =>
      JSON.parse((await joypod(["partner", verb, "--partner", "Studio South", "--json"])).stdout) as {
        suspendedAt: string | null;
      };
    const { suspendedAt } = await change("suspend");
    expect(suspendedAt).to.be.a("string");
    expect((await change("suspend")).suspendedAt, "again changes nothing").to.equal(suspendedAt);
    expectErrorResponse(await api.asPartner({ key }).get("/api/partners/games"), 403, "forbidden");
    expect((await change("resume")).suspendedAt).to.be.null;
    expect((await api.asPartner({ key }).get("/api/partners/games")).status).to.equal(200);
    const actions = await api.deps.postgres.prisma.auditEvent.findMany({
      where: { action: { startsWith: "partner." } },
      orderBy: { id: "asc" },
    });
    expect(actions.map(({ action }) => action).slice(-2)).to.deep.equal([
      "partner.suspended",
      "partner.resumed",
    ]);
    const listed = await joypod(["partner", "key", "list", "--partner", "Studio South", "--json"]);
    const {
      keys: [only],
    } = JSON.parse(listed.stdout) as {
      keys: { keyId: string; lastUsedAt: string | null; revokedAt: string | null }[];
    };
    expect(only).to.include({ keyId, revokedAt: null });
    expect(only!.lastUsedAt).to.be.a("string");
    expect(listed.stdout).to.not.contain(key);
  });

  it("names an unknown player, partner or key", async () => {
    expect((await joypod(["partner", "key", "create", "--partner", "Nobody"])).code).to.equal(4);
    expect((await joypod(["partner", "key", "revoke", "--key", "nothing"])).code).to.equal(4);
    for (const args of [["suspend"], ["resume"], ["key", "list"]])
      expect((await joypod(["partner", ...args, "--partner", "Nobody"])).code).to.equal(4);
    expect((await joypod(["no-such-command"])).code).to.equal(2);
    const noDatabase = await joypod(["migrate"], { env: { DATABASE_URL: undefined } });
    expect(noDatabase.code).to.equal(1);
    expect(noDatabase.stderr).to.contain("DATABASE_URL");
    expect((await joypod(["--help"])).stdout).to.contain("migrate");
  });
});
