import { expect } from "chai";
import { keepGameSessionAlive } from "#web/client/gameSessions.ts";

describe("keepGameSessionAlive", () => {
  const { fetch } = globalThis;
  afterEach(() => {
    globalThis.fetch = fetch;
  });

  /** Makes fetch return this response, with the server's clock in the header. */
  function serve(expiresAt: string, headers: Record<string, string>): void {
    globalThis.fetch = () => Promise.resolve(Response.json({ status: "ok", expiresAt }, { headers }));
  }

  it("returns the remaining time by the server's clock, even if the local clock is years off", async () => {
    serve("2001-01-01T12:02:00.000Z", { date: "Mon, 01 Jan 2001 12:00:00 GMT" });
    expect(await keepGameSessionAlive("gs-1")).to.deep.equal({
      expiresAt: "2001-01-01T12:02:00.000Z",
      leftMs: 120_000,
    });
  });

  it("uses the local clock if the response has no date", async () => {
    serve(new Date(Date.now() + 120_000).toISOString(), {});
    expect((await keepGameSessionAlive("gs-1")).leftMs).to.be.within(60_000, 120_000);
  });
});
