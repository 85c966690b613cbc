import { expect } from "chai";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { settle } from "#test/support/clocks/fakeClock.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { TestApi } from "#test/support/http/api.ts";
import type { ApiClient, ApiResponse } from "#test/support/http/apiClient.ts";
import { postSignIn } from "#test/support/http/authForms.ts";

const cookieName = "auth.session-token";

describe("the renewed cookie of a long request", () => {
  let api: TestApi;
  let replica: TestApi;
  let clock: JumpClock;
  let user: TestUser;

  before(async () => {
    clock = new JumpClock();
    api = await TestApi.start({ clock });
    replica = await TestApi.start({ clock, database: api.database, redisUrl: api.deps.config.redis.url });
  });
  after(async () => {
    await replica.stop();
    await api.stop();
  });
  beforeEach(async () => {
    await api.deps.redis.flushdb();
    user = await aUser(api.deps);
  });

  /** A browser in which the user is signed in. */
  async function signedIn(): Promise<ApiClient> {
    const browser = api.anonymous();
    expect((await postSignIn(browser, user)).status).to.equal(200);
    return browser;
  }

  /**
   * Sends a request that is admitted and then waits for the rest of its body, for longer than a moment.
   * Returns what sends the rest.
   */
  async function beginLong(browser: ApiClient): Promise<(rest: string) => Promise<ApiResponse>> {
    const rest = Promise.withResolvers<string>();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(Buffer.from("{")),
      pull: async (controller) => {
        controller.enqueue(Buffer.from(await rest.promise));
        controller.close();
      },
    });
    const response = browser.put("/api/account/stream-quality", body, { "content-type": "application/json" });
    await eventually(async () => (await api.deps.redis.get(`joypod:limit:account:${user.id}`)) === "1", {
      what: "the request to be counted",
    });
    await settle(); // That was the last that its admission waits for.
    clock.jump(1_500);
    return (text) => {
      rest.resolve(text);
      return response;
    };
  }

  async function shownUser(browser: ApiClient): Promise<string | undefined> {
    return (await browser.get("/api/auth/session")).json<{ user?: { id: string } }>().user?.id;
  }

  const places: Record<string, () => TestApi> = {
    "at the same replica": () => api,
    "at another replica": () => replica,
  };
  const ends: [what: string, rest: string, status: number][] = [
    ["succeeds", "}", 200],
    ["fails", "x", 400],
  ];
  for (const [place, at] of Object.entries(places)) {
    for (const [what, rest, status] of ends) {
      it(`does not replace the cookie of a new password, set ${place}, when the request ${what}`, async () => {
        const browser = await signedIn();
        const finish = await beginLong(browser);
        // Another tab of the same browser.
        const tab = at().anonymous();
        for (const [name, value] of browser.cookies) tab.cookies.set(name, value);
        expect(
          (await tab.put("/api/account/password", { newPassword: "a quite uncommon password" })).status,
        ).to.equal(200);
        const renewed = tab.cookies.get(cookieName) ?? "";
        browser.cookies.set(cookieName, renewed);
        const response = await finish(rest);
        expect(response.status, response.text).to.equal(status);
        expect(response.setCookies).to.deep.equal([]);
        expect(browser.cookies.get(cookieName)).to.equal(renewed);
        expect(await shownUser(browser)).to.equal(user.id);
      });
    }
  }

  it("is not set in a browser that has signed out", async () => {
    const browser = await signedIn();
    const finish = await beginLong(browser);
    await api.deps.authSessions.revokeAllOf(user.id);
    browser.cookies.delete(cookieName);
    expect((await finish("}")).status).to.equal(200);
    expect(browser.cookies.has(cookieName)).to.equal(false);
  });

  it("is not set by a slow session response when that sign-in has ended", async () => {
    const { pool } = api.deps.postgres;
    const browser = await signedIn();
    expect(await shownUser(browser), "Redis knows the sign-in from now on").to.equal(user.id);
    const locked = await pool.connect();
    try {
      await locked.query("BEGIN");
      await locked.query("LOCK TABLE users");
      const response = browser.get("/api/auth/session");
      const waiting =
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
      await eventually(async () => (await pool.query(waiting)).rowCount !== 0, {
        what: "the request to wait for the account",
      });
      clock.jump(1_500);
      await api.deps.authSessions.revokeAllOf(user.id);
      await locked.query("ROLLBACK");
      expect((await response).status).to.equal(200);
      expect((await response).setCookies).to.deep.equal([]);
    } finally {
      await locked.query("ROLLBACK");
      locked.release();
    }
  });

  it("is set while the sign-in is active", async () => {
    const browser = await signedIn();
    for (const [, rest, status] of ends) {
      await api.deps.redis.flushdb();
      const response = await (await beginLong(browser))(rest);
      expect(response.status, response.text).to.equal(status);
      expect(response.setCookies.join()).to.match(/^auth\.session-token=ey/);
    }
    expect(await shownUser(browser)).to.equal(user.id);
  });

  it("is set by the response to a password change, however long that takes", async () => {
    const browser = await signedIn();
    const { passwords } = api.deps;
    const hash = passwords.hash.bind(passwords);
    passwords.hash = (password) => {
      clock.jump(1_500);
      return hash(password);
    };
    try {
      expect(
        (await browser.put("/api/account/password", { newPassword: "a quite uncommon password" })).status,
      ).to.equal(200);
    } finally {
      passwords.hash = hash;
    }
    expect(await shownUser(browser)).to.equal(user.id);
  });
});
