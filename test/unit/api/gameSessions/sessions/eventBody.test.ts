import { once } from "node:events";
import { Writable } from "node:stream";
import { expect } from "chai";
import { EventBody } from "#api/gameSessions/sessions/followGameSession.ts";

describe("EventBody", () => {
  it("delivers everything in order and ends", async () => {
    const body = new EventBody(() => expect.fail("nobody was slow"));
    const texts: string[] = [];
    body.setEncoding("utf8").on("data", (text: string) => texts.push(text));
    body.send("a");
    body.send("b");
    body.end();
    body.send("too late");
    await once(body, "close");
    expect(texts.join("")).to.equal("ab");
  });

  it("disconnects a stalled reader once, and never buffers more than its limit", () => {
    let drops = 0;
    const body = new EventBody(() => drops++);
    const stuck = new Writable({ highWaterMark: 1, write: () => undefined });
    body.pipe(stuck);
    for (let count = 0; count < 200; count++) body.send("x".repeat(1024));
    expect(drops).to.equal(1);
    expect(body.readableLength).to.be.at.most(16 * 1024);
    body.destroy();
  });
});
