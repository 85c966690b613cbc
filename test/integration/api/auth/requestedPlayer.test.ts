import { expect } from "chai";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { postProviderSignIn, postSignIn } from "#test/support/http/authForms.ts";
import { FaultyIssuer } from "#test/support/oidc/faultyIssuer.ts";
import { providersEnv } from "#test/support/oidc/providersFile.ts";

describe("a request for a named player", () => {
  let api: TestApi;
  let issuer: FaultyIssuer;
  let shown: TestUser;
  let signedIn: TestUser;

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
    [shown, signedIn] = [await aUser(api.deps), await aUser(api.deps)];
  });

  const newPassword = "a quite uncommon password";
  const forPlayer = ({ id }: TestUser): Record<string, string> => ({ "joypod-player": id });

  const writes: [
    what: string,
    write: (browser: ApiClient, headers: Record<string, string>) => Promise<ApiResponse>,
    done: number,
  ][] = [
    [
      "a new password",
      (browser, headers) => browser.put("/api/account/password", { newPassword }, headers),
      200,
    ],
    [
      "an unlinked provider",
      (browser, headers) => browser.post("/api/account/providers/example/unlink", {}, headers),
      204,
    ],
    [
      "a kept quality",
      (browser, headers) => browser.put("/api/account/stream-quality", { preset: "sharp" }, headers),
      200,
    ],
    [
      "the end of other sign-ins",
      (browser, headers) => browser.delete("/api/account/sign-ins", headers),
      200,
    ],
  ];
  for (const [what, write, done] of writes) {
    it(`changes nothing if another player is signed in: ${what}`, async () => {
      const [browser, elsewhere] = [api.as(signedIn), api.as(signedIn)];
      expect((await elsewhere.get("/api/games")).status).to.equal(200);
      await api.deps.postgres.prisma.identity.create({
        data: { issuer: issuer.url, subject: signedIn.id, userId: signedIn.id },
      });
      expectErrorResponse(await write(browser, forPlayer(shown)), 401, "unauthorized");
      const { identities, streamQuality } = await api.deps.postgres.prisma.user.findUniqueOrThrow({
        where: { id: signedIn.id },
        include: { identities: true },
      });
      expect([identities.length, streamQuality]).to.deep.equal([1, null]);
      expect((await postSignIn(api.anonymous(), signedIn)).status).to.equal(200);
      expect((await elsewhere.get("/api/games")).status).to.equal(200);
      // The other one stays signed in.
      expect((await write(browser, forPlayer(signedIn))).status).to.equal(done);
    });
  }

  it("starts no sign-in at a provider if another player, or nobody, is signed in, and links for the signed-in one", async () => {
    const before = await api.deps.postgres.prisma.user.count();
    for (const browser of [api.as(signedIn), api.anonymous()]) {
      const refused = await postProviderSignIn(browser, "example", { json: "true" }, "", forPlayer(shown));
      expectErrorResponse(refused, 401, "unauthorized");
      expect(refused.json()["url"]).to.equal(`${api.url}/api/auth/signin?error=SessionRequired`);
      const plain = await postProviderSignIn(browser, "example", {}, "", forPlayer(shown));
      expect(plain.headers.get("location")).to.equal(`${api.url}/api/auth/signin?error=SessionRequired`);
    }
    const browser = api.as(signedIn);
    const begun = await postProviderSignIn(browser, "example", { json: "true" }, "", forPlayer(signedIn));
    const back = new URL(
      (await fetch(begun.json<{ url: string }>().url, { redirect: "manual" })).headers.get("location") ?? "",
    );
    expect((await browser.get(back.pathname + back.search)).headers.get("location")).to.equal(`${api.url}/`);
    expect(
      await api.deps.postgres.prisma.identity.findMany({
        where: { userId: { in: [shown.id, signedIn.id] } },
        select: { userId: true },
      }),
    ).to.deep.equal([{ userId: signedIn.id }]);
    expect(await api.deps.postgres.prisma.user.count()).to.equal(before);
  });
});
