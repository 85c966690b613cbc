import { expect } from "chai";
import { eventually } from "../clocks/eventually.ts";
import type { OperatorFixture } from "../fixtures/operatorFixture.ts";

/** Longer than two renewal intervals, because a starting agent may find no Lease that it may renew. */
const renewalMs = 40_000;

/** The Lease of a fixture's first node, which its agent renews. */
export class AgentLease {
  readonly #fixture: OperatorFixture;
  #former: string | undefined;
  #isAwaited = true;

  constructor(fixture: OperatorFixture) {
    this.#fixture = fixture;
  }

  /** Call it when the agent has ended. The next agent reports in the GameNode before it renews the Lease. */
  async ended(): Promise<void> {
    this.#former = await this.#renewTime();
    this.#isAwaited = true;
  }

  /** Resolves once the running agent has renewed it. */
  async awaitRenewal(): Promise<void> {
    if (!this.#isAwaited) return;
    await eventually(async () => (await this.#renewTime()) !== this.#former, {
      what: "the agent to renew its Lease",
      timeoutMs: renewalMs,
    });
    this.#isAwaited = false;
  }

  /** Expects no renewal within this time, but an earlier one. */
  async expectSilence(seconds: number): Promise<void> {
    expect(
      Date.now() - Date.parse((await this.#renewTime()) ?? ""),
      "the age of what a silent agent's Lease says",
    ).to.be.at.least(seconds * 1_000);
  }

  async #renewTime(): Promise<string | undefined> {
    const {
      leases,
      namespace,
      nodeNames: [name = ""],
    } = this.#fixture;
    return (await leases.find({ namespace, name }))?.spec?.renewTime;
  }
}
