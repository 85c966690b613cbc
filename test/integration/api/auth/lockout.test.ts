import { expect } from "chai";
import { Lockout, type Attempt } from "#api/auth/lockout.ts";
import type { Redis } from "#api/stores/redis.ts";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { csrfToken, postSignIn } from "#test/support/http/authForms.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { startRedis, type TestRedis } from "#test/support/stores/redis.ts";

const minuteMs = 60_000;

describe("lockout", () => {
  let api: TestApi;
  let clock: FakeClock;
  let user: TestUser;

  before(async () => {
    clock = new FakeClock();
    api = await TestApi.start({ clock });
  });
  after(() => api.stop());
  beforeEach(async () => {
    await api.deps.redis.flushdb();
    user = await aUser(api.deps);
  });

  function signIn(password: string, { email }: { email: string } = user): Promise<ApiResponse> {
    return postSignIn(api.anonymous(), { email, password });
  }

  /** As if the attempts came from many places: the limit per address is another one. */
  async function forgetAddress(): Promise<void> {
    await api.deps.redis.del(...(await api.deps.redis.keys("joypod:limit:*")), "none");
  }

  async function fail(times: number): Promise<void> {
    for (let attempt = 0; attempt < times; attempt += 1)
      expectErrorResponse(await signIn("wrong"), 401, "invalid_credentials");
    await forgetAddress();
  }

  it("locks after five failures, refuses even the right password, and returns the remaining time", async () => {
    await fail(5);
    const locked = await signIn(user.password);
    expectErrorResponse(locked, 429, "locked");
    expect(locked.headers.get("retry-after")).to.equal("60");
    expect(new URL(locked.json<{ url: string }>().url).search).to.equal(
      "?error=CredentialsSignin&code=locked",
    );
    const plain = await postSignIn(api.anonymous(), user, {});
    expect(plain.status).to.equal(302);
    expect(plain.headers.get("location")).to.contain("code=locked");
    expect(await api.deps.postgres.prisma.auditEvent.count({ where: { action: "signIn.locked" } })).to.equal(
      2,
    );
  });

  it("is shared by all replicas for a day", async () => {
    await fail(5);
    const [key = ""] = await api.deps.redis.keys("joypod:lockout:*");
    expect(await api.deps.redis.hget(key, "level")).to.equal("1");
    expect(await api.deps.redis.ttl(key)).to.be.within(24 * 3600 - 60, 24 * 3600);
  });

  it("ends after its time, is not extended by attempts, and grows with each lock", async () => {
    for (const [index, minutes] of [1, 5, 15, 30, 60, 60].entries()) {
      await fail(5);
      const locked = await signIn("wrong");
      expect(locked.headers.get("retry-after"), `lock ${index + 1}`).to.equal(String(minutes * 60));
      await clock.advance(minutes * minuteMs - 1);
      expectErrorResponse(await signIn(user.password), 429, "locked");
      await clock.advance(1);
    }
    expect((await signIn(user.password)).status).to.equal(200);
    await fail(5);
    expect((await signIn("wrong")).headers.get("retry-after")).to.equal("60");
  });

  it("counts only failures of the last 15 minutes, and clears them after a success", async () => {
    await fail(4);
    await clock.advance(15 * minuteMs);
    await fail(4);
    expect((await signIn(user.password)).status).to.equal(200);
    await fail(4);
    expect((await signIn(user.password)).status).to.equal(200);
  });

  it("counts every spelling of the address together, and other accounts separately", async () => {
    const other = await aUser(api.deps);
    for (const email of [
      user.email,
      ` ${user.email}`,
      user.email.toUpperCase(),
      `${user.email} `,
      user.email,
    ])
      await signIn("wrong", { email });
    expectErrorResponse(await signIn(user.password), 429, "locked");
    expect((await signIn(other.password, other)).status).to.equal(200);
  });

  it("locks an address without an account in the same way", async () => {
    const nobody = { email: `nobody-${user.email}` };
    for (let attempt = 0; attempt < 5; attempt += 1)
      expectErrorResponse(await signIn("wrong", nobody), 401, "invalid_credentials");
    const locked = await signIn("wrong", nobody);
    expectErrorResponse(locked, 429, "locked");
    expect(locked.headers.get("retry-after")).to.equal("60");
  });

  it("limits failures per network across accounts, without counting right passwords", async () => {
    for (let index = 0; index < 10; index += 1) expect((await signIn(user.password)).status).to.equal(200);
    const responses = await Promise.all(
      Array.from({ length: 24 }, (_, index) => signIn("wrong", { email: `spray-${index}@example.test` })),
    );
    const limited = responses.filter(({ status }) => status === 429);
    expect(limited).to.have.length(4);
    expectErrorResponse(limited[0]!, 429, "rate_limited");
    expect(Number(limited[0]!.headers.get("retry-after"))).to.be.within(800, 900);
    expectErrorResponse(await signIn(user.password), 429, "rate_limited");
  });

  it("lets 25 concurrent right passwords of one network wait for each other across accounts, also after sixteen failures", async () => {
    const users = await Promise.all(Array.from({ length: 25 }, () => aUser(api.deps)));
    for (let index = 0; index < 16; index += 1)
      expectErrorResponse(
        await signIn("wrong", { email: `spray-${index}@example.test` }),
        401,
        "invalid_credentials",
      );
    const limitsReached = (): Promise<number> =>
      api.deps.postgres.prisma.auditEvent.count({ where: { action: "limit.reached" } });
    const before = await limitsReached();
    const responses = await Promise.all(users.map((each) => signIn(each.password, each)));
    expect(responses.map(({ status }) => status)).to.deep.equal(Array<number>(25).fill(200));
    expect(await limitsReached()).to.equal(before);
    for (let index = 16; index < 20; index += 1)
      expectErrorResponse(
        await signIn("wrong", { email: `spray-${index}@example.test` }),
        401,
        "invalid_credentials",
      );
    for (let attempt = 0; attempt < 2; attempt += 1)
      expectErrorResponse(await signIn(user.password), 429, "rate_limited");
    expect(await limitsReached(), "told once").to.equal(before + 1);
    expect(await api.deps.redis.keys("joypod:signInsUnderWay:*")).to.deep.equal([]);
  });

  it("does not count attempts at a locked address against its network, whether they came after the lock or waited for it", async () => {
    const other = await aUser(api.deps);
    const responses = await Promise.all(Array.from({ length: 15 }, () => signIn("wrong")));
    expect(responses.map(({ status }) => status).toSorted()).to.deep.equal([
      ...Array<number>(5).fill(401),
      ...Array<number>(10).fill(429),
    ]);
    for (let attempt = 0; attempt < 15; attempt += 1)
      expectErrorResponse(await signIn("wrong"), 429, "locked");
    expect((await signIn(other.password, other)).status).to.equal(200);
  });

  it("lets ten concurrent right passwords wait for each other, also after four failures", async () => {
    await fail(4);
    const responses = await Promise.all(Array.from({ length: 10 }, () => signIn(user.password)));
    expect(responses.map(({ status }) => status)).to.deep.equal(Array<number>(10).fill(200));
    expect(await api.deps.redis.keys("joypod:lockout:*")).to.deep.equal([]);
  });

  describe("of concurrent attempts, in this process and in Redis", () => {
    const email = "at.once@example.test";
    let lockout: Lockout;
    beforeEach(() => {
      lockout = new Lockout(api.deps.redis, clock);
    });

    async function begin(at = lockout): Promise<Attempt> {
      const attempt = await at.begin(email);
      if (attempt?.isAllowed !== true)
        throw new Error(`The attempt was refused: ${JSON.stringify(attempt)}.`);
      return attempt;
    }

    async function beginFive(): Promise<Attempt[]> {
      const attempts: Attempt[] = [];
      while (attempts.length < 5) attempts.push(await begin());
      return attempts;
    }

    /** What a process that has counted nothing yet says of the next attempt. */
    function elsewhere(): ReturnType<Lockout["begin"]> {
      return new Lockout(api.deps.redis, clock).begin(email);
    }

    it("is withdrawn when the attempts before the one that locked were cancelled", async () => {
      const attempts = await beginFive();
      for (const attempt of attempts.slice(0, 4)) await attempt.cancelled();
      await attempts[4]?.failed();
      await (await begin(new Lockout(api.deps.redis, clock))).failed();
      for (let failures = 2; failures < 5; failures += 1) await (await begin()).failed();
      expect(await elsewhere(), "five failures lock, for as long as at first").to.deep.equal({
        isAllowed: false,
        retryAfterSeconds: 60,
      });
    });

    it("is withdrawn once, however many attempts were cancelled", async () => {
      for (const attempt of await beginFive()) await attempt.failed();
      await clock.advance(minuteMs);
      for (const attempt of await beginFive()) await attempt.cancelled();
      for (const attempt of await beginFive()) await attempt.failed();
      for (const locked of [await lockout.begin(email), await elsewhere()])
        expect(locked).to.deep.equal({ isAllowed: false, retryAfterSeconds: 300 });
    });

    it("keeps its level after its end when an earlier attempt is cancelled", async () => {
      const attempts = await beginFive();
      await clock.advance(minuteMs);
      await (await begin()).failed();
      await attempts[0]?.cancelled();
      for (let failures = 1; failures < 5; failures += 1) await (await begin()).failed();
      for (const locked of [await lockout.begin(email), await elsewhere()])
        expect(locked).to.deep.equal({ isAllowed: false, retryAfterSeconds: 300 });
    });
  });

  it("survives a flush of Redis", async () => {
    await fail(5);
    await api.deps.redis.flushdb();
    expectErrorResponse(await signIn(user.password), 429, "locked");
  });
});

describe("parallel attempts from many networks", () => {
  it("are checked at most five times", async () => {
    const api = await TestApi.start({ env: { TRUSTED_PROXIES: "1" } });
    try {
      const user = await aUser(api.deps);
      const responses = await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const browser = api.anonymous();
          const form = {
            email: user.email,
            password: "wrong",
            csrfToken: await csrfToken(browser),
            json: "true",
          };
          return browser.post("/api/auth/callback/credentials", new URLSearchParams(form), {
            "x-forwarded-for": `198.51.100.${index}`,
          });
        }),
      );
      expect(responses.filter(({ status }) => status === 401)).to.have.length(5);
      const locked = responses.filter(({ status }) => status === 429);
      expect(locked).to.have.length(45);
      for (const response of locked) expectErrorResponse(response, 429, "locked");
    } finally {
      await api.stop();
    }
  });
});

describe("right passwords at two replicas", () => {
  let api: TestApi;
  let replica: TestApi;
  let user: TestUser;

  before(async () => {
    api = await TestApi.start();
    replica = await TestApi.start({ database: api.database, redisUrl: api.deps.config.redis.url });
  });
  after(async () => {
    await replica.stop();
    await api.stop();
  });
  beforeEach(async () => {
    await api.deps.redis.flushdb();
    user = await aUser(api.deps);
  });

  async function fail(times: number): Promise<void> {
    for (let attempt = 0; attempt < times; attempt += 1) {
      expectErrorResponse(
        await postSignIn(api.anonymous(), { ...user, password: "wrong" }),
        401,
        "invalid_credentials",
      );
    }
  }

  it("wait for each other", async () => {
    await fail(4);
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        postSignIn(api.anonymous(index % 2 === 0 ? api : replica), user),
      ),
    );
    expect(responses.map(({ status }) => status)).to.deep.equal(Array<number>(12).fill(200));
  });

  it("wait for each other across accounts of one network, whose failures are counted for both", async () => {
    const users = await Promise.all(Array.from({ length: 25 }, () => aUser(api.deps)));
    const at = (index: number) => api.anonymous(index % 2 === 0 ? api : replica);
    const right = await Promise.all(users.map((each, index) => postSignIn(at(index), each)));
    expect(right.map(({ status }) => status)).to.deep.equal(Array<number>(25).fill(200));
    const wrong = await Promise.all(
      Array.from({ length: 24 }, (_, index) =>
        postSignIn(at(index), { email: `spray-${index}@example.test`, password: "wrong" }),
      ),
    );
    expect(wrong.map(({ status }) => status).toSorted()).to.deep.equal([
      ...Array<number>(20).fill(401),
      ...Array<number>(4).fill(429),
    ]);
    for (const index of [0, 1]) expectErrorResponse(await postSignIn(at(index), user), 429, "rate_limited");
  });

  it("clear the failures that the other replica has counted", async () => {
    await fail(4);
    expect((await postSignIn(api.anonymous(replica), user)).status).to.equal(200);
    await fail(1);
    expect((await postSignIn(api.anonymous(), user)).status).to.equal(200);
  });

  it("do not clear later failures", async () => {
    await fail(4);
    expect((await postSignIn(api.anonymous(replica), user)).status).to.equal(200);
    await fail(5);
    // The process's own count has to hold by itself.
    await api.deps.redis.flushdb();
    expectErrorResponse(await postSignIn(api.anonymous(), user), 429, "locked");
  });
});

/** Commands with which the client checks a new connection, as often as there is time. */
const checks = ["info", "select", "client", "hello", "ping"];

/** Returns a function that counts the commands from now on that Redis did not answer in time. */
function countTimeouts(redis: Redis): () => number {
  let timeouts = 0;
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (...args: Parameters<Redis["sendCommand"]>): unknown => {
    const [{ name, promise }] = args;
    (promise as Promise<unknown>).catch((error: unknown) => {
      if (error instanceof Error && error.message === "Command timed out" && !checks.includes(name))
        timeouts += 1;
    });
    return send(...args);
  };
  return () => timeouts;
}

describe("lockout without Redis", () => {
  let redis: TestRedis;
  let api: TestApi;
  let user: TestUser;

  before(async () => {
    redis = await startRedis();
  });
  after(() => redis.server.stop());
  // An API of its own for each: it starts without any count in its memory.
  beforeEach(async () => {
    api = await TestApi.start({ redisUrl: redis.url, env: { REDIS_TIMEOUT_MS: "200" } });
    user = await aUser(api.deps);
  });
  afterEach(() => api.stop());

  async function expectLockout(): Promise<void> {
    expect((await postSignIn(api.anonymous(), user)).status).to.equal(200);
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expectErrorResponse(
        await postSignIn(api.anonymous(), { ...user, password: "wrong" }),
        401,
        "invalid_credentials",
      );
    }
    expectErrorResponse(await postSignIn(api.anonymous(), user), 429, "locked");
    const other = await aUser(api.deps);
    expect((await postSignIn(api.anonymous(), other)).status).to.equal(200);
  }

  it("locks and signs in while Redis is down, and stays locked afterwards", async () => {
    await redis.server.stop();
    try {
      await expectLockout();
    } finally {
      await redis.server.start();
    }
    expectErrorResponse(await postSignIn(api.anonymous(), user), 429, "locked");
  });

  it("limits the failures of a network while Redis is down, and lets right passwords wait for each other", async () => {
    const users = await Promise.all(Array.from({ length: 25 }, () => aUser(api.deps)));
    await redis.server.stop();
    try {
      const right = await Promise.all(users.map((each) => postSignIn(api.anonymous(), each)));
      expect(right.map(({ status }) => status)).to.deep.equal(Array<number>(25).fill(200));
      const wrong = await Promise.all(
        Array.from({ length: 24 }, (_, index) =>
          postSignIn(api.anonymous(), { email: `spray-${index}@example.test`, password: "wrong" }),
        ),
      );
      expect(wrong.map(({ status }) => status).toSorted()).to.deep.equal([
        ...Array<number>(20).fill(401),
        ...Array<number>(4).fill(429),
      ]);
      expectErrorResponse(await postSignIn(api.anonymous(), user), 429, "rate_limited");
    } finally {
      await redis.server.start();
    }
  });

  it("locks and signs in while Redis hangs, without waiting for it on every attempt", async () => {
    const timeouts = countTimeouts(api.deps.redis);
    redis.server.signal("SIGSTOP");
    try {
      await expectLockout();
      // Of sixteen requests with up to five commands each.
      expect(timeouts()).to.be.within(1, 10);
    } finally {
      redis.server.signal("SIGCONT");
    }
  });
});
