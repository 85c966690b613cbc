import { expect } from "chai";
import { deleteUser, disableUser, setPassword, type ChangeUserDeps } from "#api/accounts/changeUser.ts";
import type { Passwords } from "#api/auth/passwords.ts";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { postProviderSignIn, postSignIn } from "#test/support/http/authForms.ts";
import { FaultyIssuer } from "#test/support/oidc/faultyIssuer.ts";
import { providersEnv } from "#test/support/oidc/providersFile.ts";
import { StatementLog } from "#test/support/stores/statementLog.ts";

const newPassword = "a quite uncommon password";

describe("a sign-in in progress", () => {
  let api: TestApi;
  let issuer: FaultyIssuer;
  let user: TestUser;

  before(async () => {
    issuer = await FaultyIssuer.start();
    api = await TestApi.start({
      env: providersEnv([
        {
          id: "example",
          name: "Example",
          type: "oidc",
          issuer: issuer.url,
          clientId: "joypod",
          allowInsecure: true,
        },
      ]),
    });
  });
  after(async () => {
    await api.stop();
    await issuer.stop();
  });
  beforeEach(async () => {
    await api.deps.redis.flushdb();
    user = await aUser(api.deps);
  });

  /** The same work, after which `passed` happens before anything comes of it. */
  function heldAfter<Args extends unknown[], Result>(
    work: (...args: Args) => Promise<Result>,
    passed: () => Promise<unknown>,
  ): (...args: Args) => Promise<Result> {
    return async (...args) => {
      const result = await work(...args);
      await passed();
      return result;
    };
  }

  /** Lets `passed` happen after each check of a password. Returns what undoes that. */
  function holdChecks(passwords: Passwords, passed: () => Promise<unknown>): () => void {
    const check = passwords.check.bind(passwords);
    passwords.check = heldAfter(check, passed);
    return () => {
      passwords.check = check;
    };
  }

  /** The same after each hash that is made of one. */
  function holdHashes(passwords: Passwords, passed: () => Promise<unknown>): () => void {
    const hash = passwords.hash.bind(passwords);
    passwords.hash = heldAfter(hash, passed);
    return () => {
      passwords.hash = hash;
    };
  }

  /**
   * Sends a request, and lets `meanwhile` happen when it has come to where `hold` holds it: that one, and
   * none of those that follow.
   */
  async function around(
    hold: typeof holdChecks,
    begin: () => Promise<ApiResponse>,
    meanwhile: () => Promise<unknown>,
  ): Promise<ApiResponse> {
    const [reached, gate] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const release = hold(api.deps.passwords, () => {
      reached.resolve(undefined);
      return gate.promise;
    });
    const response = begin();
    try {
      await Promise.race([reached.promise, response]);
      release();
      await meanwhile();
    } finally {
      release();
      gate.resolve(undefined);
    }
    return response;
  }

  /**
   * Signs in with the user's password; once that was found right, and before anything comes of it,
   * `meanwhile` happens.
   */
  function signInAround(meanwhile: () => Promise<unknown>): Promise<ApiResponse> {
    return around(holdChecks, () => postSignIn(api.anonymous(), user), meanwhile);
  }

  function adminDeps(): ChangeUserDeps {
    const { postgres, audit, authSessions } = api.deps;
    return { postgres, audit, announce: (ids) => authSessions.announceRevoked(ids).then(() => true) };
  }

  const signedIn = (userId: string): Promise<number> =>
    api.deps.postgres.prisma.authSession.count({ where: { userId, revokedAt: null } });

  it("is refused with the old password after the player has set a new one, and leaves nobody signed in", async () => {
    const browser = api.as(user);
    const response = await signInAround(async () =>
      expect((await browser.put("/api/account/password", { newPassword })).status).to.equal(200),
    );
    expectErrorResponse(response, 401, "invalid_credentials");
    expect(response.setCookies).to.be.empty;
    expect(await signedIn(user.id), "the browser that set the password").to.equal(1);
    expect((await browser.get("/api/account/sign-ins")).status).to.equal(200);
    expect((await postSignIn(api.anonymous(), { ...user, password: newPassword })).status).to.equal(200);
  });

  it("belongs to the player when a copy of its cookie sets a password at the same time", async () => {
    const browser = api.as(user);
    const copy = api.as(user);
    const copied = await around(
      holdHashes,
      () => copy.put("/api/account/password", { newPassword: "what somebody else wants" }),
      async () => expect((await browser.put("/api/account/password", { newPassword })).status).to.equal(200),
    );
    expectErrorResponse(copied, 401, "unauthorized");
    expect((await browser.get("/api/account/sign-ins")).status).to.equal(200);
    expect((await postSignIn(api.anonymous(), { ...user, password: newPassword })).status).to.equal(200);
  });

  const changes: Record<string, () => Promise<unknown>> = {
    "set another password": () =>
      setPassword(
        { ...adminDeps(), passwords: api.deps.passwords },
        { email: user.email, password: newPassword },
      ),
    "disabled the account": () => disableUser(adminDeps(), user.email),
    "deleted the account": () => deleteUser(adminDeps(), user.email),
  };
  for (const [what, change] of Object.entries(changes)) {
    it(`is refused after an admin has ${what}, and leaves nobody signed in`, async () => {
      const code = what === "disabled the account" ? "account_disabled" : "invalid_credentials";
      expectErrorResponse(await signInAround(change), 401, code);
      expect(await signedIn(user.id)).to.equal(0);
    });
  }

  it("with the old password waits for an uncommitted new one", async () => {
    const passwordHash = await api.deps.passwords.hash(newPassword);
    const { pool } = api.deps.postgres;
    const holder = await pool.connect();
    await holder.query("BEGIN");
    await holder.query("UPDATE users SET password_hash = $2 WHERE id = $1", [user.id, passwordHash]);
    const signingIn = postSignIn(api.anonymous(), user);
    try {
      const waiting =
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
      await eventually(async () => (await pool.query(waiting)).rowCount === 1, {
        what: "the sign-in to wait",
      });
      await holder.query("UPDATE auth_sessions SET revoked_at = now() WHERE user_id = $1", [user.id]);
    } finally {
      await holder.query("COMMIT");
      holder.release();
    }
    expectErrorResponse(await signingIn, 401, "invalid_credentials");
    expect(await signedIn(user.id)).to.equal(0);
  });

  it("succeeds if a concurrent sign-in has stored a new hash of the same password", async () => {
    const costlier = await TestApi.start({ database: api.database, env: { BCRYPT_COST: "5" } });
    try {
      const both = Promise.withResolvers<undefined>();
      let checks = 0;
      holdChecks(costlier.deps.passwords, () => {
        checks += 1;
        if (checks === 2) both.resolve(undefined);
        return both.promise;
      });
      const responses = await Promise.all([
        postSignIn(costlier.anonymous(), user),
        postSignIn(costlier.anonymous(), user),
      ]);
      expect(responses.map(({ status }) => status)).to.deep.equal([200, 200]);
      expect(checks, "of which one is of the new hash").to.equal(3);
      const { passwordHash } = await api.deps.postgres.prisma.user.findUniqueOrThrow({
        where: { id: user.id },
      });
      expect(passwordHash).to.match(/^\$2b\$05\$/);
    } finally {
      await costlier.stop();
    }
  });

  it("takes three SQL statements", async () => {
    const log = new StatementLog(api.deps.postgres.pool);
    expect(await log.during(() => postSignIn(api.anonymous(), user))).to.have.length(3);
  });

  it("at a provider is refused after the account was disabled", async () => {
    const email = "under-way@example.test";
    issuer.misbehaviour = { claims: { sub: "under-way", email } };
    const visit = async (): Promise<ApiResponse> => {
      const browser = api.anonymous();
      const { url } = (await postProviderSignIn(browser, "example")).json<{ url: string }>();
      const back = new URL((await fetch(url, { redirect: "manual" })).headers.get("location") ?? "");
      return browser.get(back.pathname + back.search);
    };
    expect((await visit()).headers.get("location")).to.equal(`${api.url}/`);
    const { id } = await api.deps.postgres.prisma.user.findUniqueOrThrow({ where: { email } });
    const { authSessions } = api.deps;
    const create = authSessions.create.bind(authSessions);
    authSessions.create = async (userId, place) => {
      await disableUser(adminDeps(), email);
      return create(userId, place);
    };
    try {
      expect((await visit()).headers.get("location")).to.equal(
        `${api.url}/api/auth/signin?error=AccessDenied`,
      );
    } finally {
      authSessions.create = create;
    }
    expect(await signedIn(id)).to.equal(0);
  });
});
