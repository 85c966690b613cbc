import { expect } from "chai";
import { beginProviderSignIn } from "#web/client/auth.ts";

describe("beginProviderSignIn", () => {
  const { fetch } = globalThis;
  before(() => {
    Object.defineProperty(globalThis, "location", {
      value: { origin: "https://joypod.example" },
      configurable: true,
    });
  });
  after(() => {
    Reflect.deleteProperty(globalThis, "location");
  });
  afterEach(() => {
    globalThis.fetch = fetch;
  });

  /** Has the browser's fetch get a 503 from this path, and a token from any other. */
  function serveAllBut(unavailable: string): void {
    globalThis.fetch = (path) =>
      Promise.resolve(
        path === unavailable
          ? Response.json({ error: "unavailable", message: "Try again in a moment." }, { status: 503 })
          : Response.json({ csrfToken: "0f".repeat(32) }),
      );
  }

  const begin = (): Promise<unknown> =>
    beginProviderSignIn("example", "https://joypod.example/account", {
      currentPassword: "password",
      player: "player",
      signal: new AbortController().signal,
    }).catch((error: unknown) => error);

  it("throws that the provider is unavailable when its address is", async () => {
    serveAllBut("/api/auth/signin/example");
    expect(await begin()).to.include({ name: "ApiError", code: "provider_unavailable" });
  });

  it("throws that Joypod is unavailable when not even a token comes", async () => {
    serveAllBut("/api/auth/csrf");
    expect(await begin()).to.include({ name: "ApiError", code: "unavailable" });
  });
});
