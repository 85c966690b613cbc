import { expect } from "chai";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { aUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { postSignIn } from "#test/support/http/authForms.ts";
import { latenciesDuring } from "#test/support/http/latencies.ts";

const signIns = 20;

describe("a burst of sign-ins", () => {
  let api: TestApi;

  before(async () => {
    api = await TestApi.start({
      env: { BCRYPT_COST: "12", PASSWORD_WORKERS: "1", POLLS_PER_MINUTE: "100000" },
    });
    await api.deps.passwords.warmUp();
  });
  after(() => api.stop());

  it("does not delay a polling player by even the time of one password check", async () => {
    const user = await aUser(api.deps);
    const { prisma } = api.deps.postgres;
    const { passwordHash } = await prisma.user.findUniqueOrThrow({ where: { id: user.id } });
    const users = Array.from({ length: signIns }, (_, at) => ({
      email: `player-${at}@example.test`,
      name: "Player",
      passwordHash,
    }));
    await prisma.user.createMany({ data: users });
    const player = api.as(user);
    const poll = () => player.get("/api/game/session-status?sessionId=gs-00000000000000000000");
    expectErrorResponse(await poll(), 404, "not_found");

    const loop = monitorEventLoopDelay({ resolution: 5 });
    loop.enable();
    const startedMs = performance.now();
    const signedIn = Promise.all(
      users.map(({ email }) => postSignIn(api.anonymous(), { email, password: user.password })),
    );
    const delaysMs = await latenciesDuring(signedIn, async () =>
      expectErrorResponse(await poll(), 404, "not_found"),
    );
    loop.disable();
    expect((await signedIn).map(({ status }) => status)).to.deep.equal(Array<number>(signIns).fill(200));

    const passwordMs = (performance.now() - startedMs) / signIns;
    const p99 = delaysMs.toSorted((left, right) => left - right)[Math.floor(delaysMs.length * 0.99)];
    expect(p99, `of ${delaysMs.length} polls, in ms`).to.be.below(passwordMs / 2);
    expect(loop.percentile(99) / 1e6, "of the loop's delays, in ms").to.be.below(passwordMs / 4);
  });
});
