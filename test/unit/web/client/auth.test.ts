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

  /** Makes fetch return a 503 for this path, and a token for any other. */
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

  it("throws provider_unavailable if the provider's sign-in fails with 503", async () => {
    serveAllBut("/api/auth/signin/example");
    expect(await begin()).to.include({ name: "ApiError", code: "provider_unavailable" });
  });

  it("throws unavailable if the token cannot be fetched", async () => {
    serveAllBut("/api/auth/csrf");
    expect(await begin()).to.include({ name: "ApiError", code: "unavailable" });
  });
});
