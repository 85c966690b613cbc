import { expect } from "chai";
import { eventually } from "../clocks/eventually.ts";
import type { OperatorFixture } from "../fixtures/operatorFixture.ts";

/**
 * Longer than the time between two renewals, and once more, as an agent that starts may find none that it may
 * renew.
 */
const renewalMs = 40_000;

/** The Lease of a fixture's first node, by which its agent is heard. */
export class AgentLease {
  readonly #fixture: OperatorFixture;
  #former: string | undefined;
  #isAwaited = true;

  constructor(fixture: OperatorFixture) {
    this.#fixture = fixture;
  }

  /** The agent has ended. The next one says in the GameNode that it lives before it does so here. */
  async ended(): Promise<void> {
    this.#former = await this.#renewTime();
    this.#isAwaited = true;
  }

  /** Resolves once the agent that runs is heard by it. */
  async awaitRenewal(): Promise<void> {
    if (!this.#isAwaited) return;
    await eventually(async () => (await this.#renewTime()) !== this.#former, {
      what: "the agent to renew its Lease",
      timeoutMs: renewalMs,
    });
    this.#isAwaited = false;
  }

  /** Throws when it was renewed within that time, or never. */
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
