import { expect } from "chai";
import { aUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { postSignIn } from "#test/support/http/authForms.ts";
import { type JoypodOutcome, runJoypod } from "#test/support/processes/joypod.ts";

describe("joypod audit", function () {
  this.timeout(60_000);
  let api: TestApi;

  before(async () => {
    api = await TestApi.start();
  });
  after(() => api.stop());

  function joypod(
    args: string[],
    { env = {} }: { env?: Record<string, string | undefined> } = {},
  ): Promise<JoypodOutcome> {
    const { pepper } = api.deps.config.auth;
    return runJoypod(args, { env: { DATABASE_URL: api.database.url, PASSWORD_PEPPER: pepper, ...env } });
  }

  interface Page {
    events: { id: string; action: string; actor: { kind: string; id: string | null }; subject: unknown }[];
    before: string | null;
  }

  async function audited(...args: string[]): Promise<Page> {
    const { code, stdout, stderr } = await joypod(["audit", "--json", ...args]);
    expect(code, stdout + stderr).to.equal(0);
    return JSON.parse(stdout) as Page;
  }
  const actionsOf = ({ events }: Page): string[] => events.map(({ action }) => action);

  it("shows what a player did, and failed sign-ins to their account, newest first and page by page", async () => {
    const user = await aUser(api.deps);
    await postSignIn(api.anonymous(), { ...user, password: "wrong" });
    await postSignIn(api.anonymous(), user);
    await postSignIn(api.anonymous(), { email: `other-${user.email}`, password: "wrong" });
    expect((await joypod(["user", "disable", "--email", user.email])).code).to.equal(0);
    const actions = ["user.disabled", "signIn.succeeded", "signIn.failed"];
    expect(actionsOf(await audited("--user", user.email.toUpperCase()))).to.deep.equal(actions);
    const first = await audited("--user", user.id, "--limit", "2", "--since", "1h");
    expect(actionsOf(first)).to.deep.equal(actions.slice(0, 2));
    const rest = await audited("--user", user.id, "--limit", "2", "--before", first.before ?? "");
    expect(actionsOf(rest)).to.deep.equal(actions.slice(2));
    expect(rest.before).to.equal(null);
    const since = new Date(Date.now() + 60_000).toISOString();
    expect(await audited("--user", user.email, "--since", since)).to.deep.equal({ events: [], before: null });
    expect((await joypod(["audit", "--user", user.email, "--since", since])).stdout).to.equal(
      "No events found.\n",
    );
  });

  it("shows actions by and on a partner, as a table", async () => {
    await joypod(["partner", "create", "--name", "Audited"]);
    const { stdout } = await joypod(["partner", "key", "create", "--partner", "Audited", "--json"]);
    const { key, partnerId } = JSON.parse(stdout) as { key: string; partnerId: string };
    await api.asPartner({ key }).get("/api/partners/games");
    await api.deps.audit.settled();
    const page = await audited("--partner", "Audited");
    expect(actionsOf(page)).to.deep.equal(["partnerKey.used", "partnerKey.created", "partner.created"]);
    expect(page.events[0]?.actor).to.deep.equal({ kind: "partner", id: partnerId });
    const table = (await joypod(["audit", "--partner", partnerId, "--limit", "1"])).stdout.split("\n");
    expect(table[0]).to.match(/^ID +TIME +ACTION +ACTOR +SUBJECT +NETWORK +REQUEST +DETAILS$/);
    expect(table[1]).to.contain("partnerKey.used").and.contain(partnerId).and.contain("127.0.0.0/24");
    expect(table[2]).to.equal(`For older events: --before ${page.events[0]?.id}`);
  });

  it("explains invalid options", async () => {
    const wrong: [string[], number, RegExp][] = [
      [["--since", "yesterday"], 2, /24h/],
      [["--since", "2026-13-45"], 2, /24h/],
      [["--since", "2026-11-22T18:00"], 2, /zone/],
      [["--limit", "1001"], 2, /1 to 1000/],
      [["--limit", "0"], 2, /1 to 1000/],
      [["--before", "x"], 2, /id/],
      [["--user", "a@b.test", "--partner", "x"], 2, /cannot be used/],
      [["--partner", "nobody"], 4, /no partner nobody/],
    ];
    for (const [args, code, message] of wrong) {
      const outcome = await joypod(["audit", ...args]);
      expect(outcome.code, args.join(" ")).to.equal(code);
      expect(outcome.stderr, args.join(" ")).to.match(message);
    }
    expect(
      await joypod(["audit", "--user", "a@b.test"], { env: { PASSWORD_PEPPER: undefined } }),
    ).to.deep.include({ code: 2 });
  });
});
