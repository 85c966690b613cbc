import { expect } from "chai";
import { aGame, aGameSessionRow, aPartner, aUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { runJoypod } from "#test/support/processes/joypod.ts";

describe("joypod list and show", function () {
  this.timeout(60_000);
  let api: TestApi;

  before(async () => {
    api = await TestApi.start();
  });
  after(() => api.stop());

  async function joypod(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runJoypod(args, { env: { DATABASE_URL: api.database.url } });
    expect(code, stdout + stderr).to.equal(0);
    return stdout;
  }
  async function json<T>(...args: string[]): Promise<T> {
    return JSON.parse(await joypod(...args, "--json")) as T;
  }

  interface Page<T> {
    after: string | null;
    users?: T[];
    games?: T[];
    partners?: T[];
    sessions?: T[];
  }

  it("lists players page by page, and finds them by part of their address or name", async () => {
    const [first, second, third] = [
      await aUser(api.deps, { email: "ada@list.test", name: "Countess" }),
      await aUser(api.deps, { email: "bob@list.test" }),
      await aUser(api.deps, { email: "cyd@list.test", name: "Cyd\u202e" }),
    ];
    const page = await json<Page<{ email: string }>>("user", "list", "--search", "@LIST.", "--limit", "2");
    expect(page.users?.map(({ email }) => email)).to.deep.equal([first.email, second.email]);
    const rest = await joypod("user", "list", "--search", "list.", "--after", String(page.after));
    expect(rest).to.contain(third.email).and.contain("Cyd\\u{202e}").and.not.contain(second.email);
    expect(await joypod("user", "list", "--search", "countess")).to.match(
      /^ADDRESS +NAME .*\nada@list\.test +Countess +active +20.*\n$/,
    );
  });

  it("shows a player with their sessions, by address and by id", async () => {
    const user = await aUser(api.deps);
    const game = await aGame(api.deps);
    const { id } = await aGameSessionRow(api.deps, { user, game });
    const shown = await joypod("user", "show", user.email.toUpperCase());
    expect(shown).to.contain(`${user.email} (not verified)`).and.contain(id);
    expect(await json("user", "show", user.id)).to.deep.include({
      activeSessionId: id,
      gameSessions: 1,
      hasPassword: true,
      groups: [],
      deleteAt: null,
      saveSlots: 1,
      signIns: 0,
    });
    const unknown = await runJoypod(["user", "show", "nobody@list.test"], {
      env: { DATABASE_URL: api.database.url },
    });
    expect(unknown).to.deep.equal({ code: 4, stdout: "", stderr: "There is no user nobody@list.test.\n" });
  });

  it("lists sessions, newest first, and ended ones on request", async () => {
    const [user, game] = [await aUser(api.deps), await aGame(api.deps)];
    const startedAt = new Date(Date.now() - 60_000);
    const ended = await aGameSessionRow(api.deps, { user, game }, { status: "stopped", startedAt });
    const active = await aGameSessionRow(api.deps, { user, game }, { slotId: null });
    const ids = ({ sessions = [] }: Page<{ id: string }>) => sessions.map(({ id }) => id);
    expect(ids(await json("session", "list", "--user", user.email))).to.deep.equal([active.id]);
    const all = ["session", "list", "--all", "--game", game.slug];
    const page = await json<Page<{ id: string }>>(...all, "--limit", "1");
    expect([ids(page), page.after]).to.deep.equal([[active.id], active.id]);
    expect(ids(await json(...all, "--after", active.id))).to.deep.equal([ended.id]);
  });

  it("lists and shows partners and their games", async () => {
    const partner = await aPartner(api.deps, { name: "Night Studio" });
    const game = await aGame(api.deps, {
      partnerId: partner.id,
      slug: "moonlight",
      title: "Moonlight Drift",
    });
    await aGame(api.deps, { partnerId: partner.id, slug: "gone", deletedAt: new Date() });
    await aGameSessionRow(api.deps, { user: await aUser(api.deps), game });
    expect(await joypod("partner", "list", "--search", "night")).to.match(
      /^NAME .*\nNight Studio +active +1 +1 +- +20.*\n$/,
    );
    expect(await json("partner", "show", partner.id)).to.deep.include({ listedGames: 1, activeSessions: 1 });
    expect(await joypod("partner", "show", "Night Studio")).to.contain(`${partner.keyId}: created`);
    expect(await joypod("game", "list", "--partner", "Night Studio", "--search", "DRIFT")).to.match(
      /^SLUG .*\nmoonlight +Moonlight Drift +Night Studio +active +1 +0\n$/,
    );
    expect(await joypod("game", "list", "--state", "deleted"))
      .to.contain("gone")
      .and.not.contain("moonlight");
    expect(await joypod("game", "show", "moonlight")).to.contain(`sha256:${game.sha256}`);
  });
});
