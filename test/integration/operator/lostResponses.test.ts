import { expect } from "chai";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { beforeEachWithFaultyApi } from "#test/support/fixtures/faultyOperatorFixture.ts";
import type { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

describe("Operator: responses that are lost", function () {
  this.timeout(60_000);
  let fixture: OperatorFixture;
  let api: FaultyApi;

  beforeEachWithFaultyApi((freshFixture, freshApi) => {
    fixture = freshFixture;
    api = freshApi;
  });

  it("lose no event of a status that was written", async () => {
    const operator = await fixture.standByOperator(api.transport());
    await operator.lead();
    await fixture.reportNodes();
    let isLost = false;
    api.loseResponseOnce(({ method, path }) => isLost ||= method === "PATCH" && path.includes("/gamesessions/") && path.endsWith("/status"));
    const { metadata: { name } } = await fixture.launch();
    await fixture.session(name, ({ status }) => status?.nodeName !== undefined, "placed session");
    await eventually(async () => (await fixture.eventsOf(name)).includes("PodCreated"), { timeoutMs: 20_000, what: "a later event" });
    expect(isLost).to.equal(true);
    expect(await fixture.eventsOf(name)).to.include("Scheduled");
  });
});
