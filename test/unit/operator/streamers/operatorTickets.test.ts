import { expect } from "chai";
import { readTicket, ticketVerifyingKey } from "#contracts/streamTicket.ts";
import { createOperatorTickets } from "#operator/streamers/askStreamer.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

describe("createOperatorTickets", () => {
  const clock = new FakeClock();

  it("signs tickets that are valid for one streamer's status and one minute", () => {
    const tickets = createOperatorTickets(Buffer.alloc(32, 1), clock);
    const nowSeconds = Math.floor(clock.now().getTime() / 1_000);
    expect(
      readTicket(tickets.sign("gs-a"), ticketVerifyingKey(tickets.publicKey), clock.now()),
    ).to.deep.equal({ aud: "gs-a", sub: "operator", role: "operate", iat: nowSeconds, exp: nowSeconds + 60 });
  });

  it("uses one key in all processes that share a secret, and a different key in each without one", () => {
    const keyOf = (secret?: Buffer): string => createOperatorTickets(secret, clock).publicKey;
    expect(keyOf(Buffer.alloc(32, 1))).to.equal(keyOf(Buffer.alloc(32, 1)));
    expect(new Set([keyOf(Buffer.alloc(32, 1)), keyOf(Buffer.alloc(32, 2)), keyOf(), keyOf()]).size).to.equal(
      4,
    );
  });
});
