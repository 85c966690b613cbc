import { expect } from "chai";
import { GamesQuery } from "#contracts/http/catalog.ts";
import { RenameSaveSlotRequest } from "#contracts/http/saves.ts";
import { listGames } from "#web/client/catalog.ts";
import { renameSlot } from "#web/client/saves.ts";

describe("pasted text with control characters", () => {
  const { fetch } = globalThis;
  let sent: { query: Record<string, string>; body: unknown };
  before(() => {
    globalThis.fetch = (path, init) => {
      const { searchParams } = new URL(typeof path === "string" ? path : "", "https://joypod.example");
      sent = {
        query: Object.fromEntries(searchParams),
        body: typeof init?.body === "string" ? JSON.parse(init.body) : undefined,
      };
      return Promise.resolve(Response.error());
    };
  });
  after(() => {
    globalThis.fetch = fetch;
  });

  const pasted = ["moon\tdrift", "moon\r\ndrift", "moon\u2028\u0000drift", "moon\u0085drift"];

  it("is searched for with spaces instead", async () => {
    for (const text of pasted) {
      await listGames({ page: 1, search: text, tag: text, sort: "title", favorites: false }).catch(
        () => undefined,
      );
      expect(GamesQuery.parse(sent.query)).to.include({ search: "moon drift", tag: "moon drift" });
    }
  });

  it("names a slot with spaces instead", async () => {
    for (const text of pasted) {
      await renameSlot({ slug: "moonlight-drift", slotId: "slot" }, text).catch(() => undefined);
      expect(RenameSaveSlotRequest.parse(sent.body)).to.deep.equal({ label: "moon drift" });
    }
  });
});
