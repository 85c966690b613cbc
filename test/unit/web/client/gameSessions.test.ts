import { expect } from "chai";
import { keepGameSessionAlive } from "#web/client/gameSessions.ts";

describe("keepGameSessionAlive", () => {
  const { fetch } = globalThis;
  afterEach(() => {
    globalThis.fetch = fetch;
  });

  /** Has the browser's fetch get this response from a server whose clock is the header's. */
  function serve(expiresAt: string, headers: Record<string, string>): void {
    globalThis.fetch = () => Promise.resolve(Response.json({ status: "ok", expiresAt }, { headers }));
  }

  it("returns the time that is left by the server's clock, years off this machine's", async () => {
    serve("2001-01-01T12:02:00.000Z", { date: "Mon, 01 Jan 2001 12:00:00 GMT" });
    expect(await keepGameSessionAlive("gs-1")).to.deep.equal({
      expiresAt: "2001-01-01T12:02:00.000Z",
      leftMs: 120_000,
    });
  });

  it("returns it by this machine's where no server says its own", async () => {
    serve(new Date(Date.now() + 120_000).toISOString(), {});
    expect((await keepGameSessionAlive("gs-1")).leftMs).to.be.within(60_000, 120_000);
  });
});
