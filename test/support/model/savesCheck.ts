import { expect } from "chai";
import { listSaveVersions } from "#api/saves/saveVersionQueries.ts";
import { activeSession, keptKeys, ownerOf, slotsOf, type ModelSlot, type SavesModel } from "./savesModel.ts";
import type { SavesWorld } from "./savesWorld.ts";

interface StoredSlot {
  id: string;
  objectKey: string | null;
  generation: number;
  owners: string[];
}

/** Compares the platform with the model after each command, and remembers the progress of each slot. */
export class SavesCheck {
  readonly #generations = new Map<string, number>();
  readonly #world: SavesWorld;

  constructor(world: SavesWorld) {
    this.#world = world;
  }

  async run(model: SavesModel): Promise<void> {
    const slots = model.slots.filter(({ isDeleted }) => !isDeleted);
    const ids = slots.map(({ id }) => id);
    const { pool } = this.#world.fixture.api.deps.postgres;
    const { rows } = await pool.query<StoredSlot>(
      `SELECT s.id, s.object_key AS "objectKey", s.generation,
        ARRAY(SELECT o.id FROM game_sessions o WHERE o.slot_id = s.id AND o.slot_released_at IS NULL) AS owners
      FROM save_slots s WHERE s.user_id = ANY ($1)`,
      [this.#world.users.map(({ id }) => id)],
    );
    expect(
      rows.map(({ id }) => id),
      "slots",
    ).to.have.members(ids);
    const versions = await listSaveVersions(pool, ids);
    for (const slot of slots) {
      const stored = rows.find(({ id }) => id === slot.id);
      if (stored !== undefined) this.#checkSlot(model, slot, stored);
      checkVersions(
        slot,
        versions.filter(({ slotId }) => slotId === slot.id),
      );
    }
    await Promise.all(this.#world.users.map((_, player) => this.#checkPlayer(model, player)));
  }

  /** Checks that the object store has every kept save, and that the sweeper finds unreported ones. */
  async checkEnd(model: SavesModel): Promise<void> {
    this.#world.fixture.setStoreUp(true);
    await this.#checkObjects(model);
    await this.#world.sweepAll();
    const untold = model.sessions.filter(
      ({ slot, ownsSlot, stored, known }) => !slot.isDeleted && !ownsSlot && stored !== known,
    );
    const recorded = await this.#world.recordedKeys(untold.map(({ slot }) => slot.id));
    for (const { stored, slot } of untold)
      expect([...recorded], `the saves that are found of ${slotName(slot)}`).to.include(stored?.key);
  }

  async #checkObjects(model: SavesModel): Promise<void> {
    for (const slot of model.slots) {
      const objects = await this.#world.objects(slot.id);
      for (const key of keptKeys(model, slot))
        expect(objects.has(key), `the object ${key} of ${slotName(slot)} is kept`).to.equal(true);
    }
  }

  #checkSlot(model: SavesModel, slot: ModelSlot, { objectKey, generation, owners }: StoredSlot): void {
    expect(objectKey, `save of ${slotName(slot)}`).to.equal(slot.current ?? null);
    expect(generation, `generation of ${slotName(slot)}`).to.be.at.least(this.#generations.get(slot.id) ?? 0);
    this.#generations.set(slot.id, generation);
    const owner = ownerOf(model, slot);
    expect(owners, `owner of ${slotName(slot)}`).to.deep.equal(owner === undefined ? [] : [owner.id]);
  }

  /** Checks that a player can launch, and sees only their own data. */
  async #checkPlayer(model: SavesModel, player: number): Promise<void> {
    const [detail, sessions] = await Promise.all([
      this.#world.detail(player),
      this.#world.activeSessions(player),
    ]);
    const active = activeSession(model, player);
    expect(sessions, `active sessions of player ${player}`).to.deep.equal(
      active === undefined ? [] : [active.id],
    );
    const own = slotsOf(model, player).map(({ id, number }) => ({ id, number }));
    const shown = detail.saveSlots
      .filter(({ id }) => id !== null)
      .map(({ id, slotNumber }) => ({ id, number: slotNumber }));
    expect(shown, `slots that player ${player} is shown`).to.deep.equal(own);
  }
}

/** Checks that each recorded save exists unless the rule allows removing it, and forgets removed ones. */
function checkVersions(
  slot: ModelSlot,
  stored: readonly { kind: string; objectKey: string; gameSession: string | null }[],
): void {
  const left = stored.map(({ kind, objectKey }) => `${kind} ${objectKey}`);
  slot.versions = slot.versions.filter(({ kind, key, mayBeMissing }) => {
    const at = left.indexOf(`${kind} ${key}`);
    if (at >= 0) left.splice(at, 1);
    else
      expect(mayBeMissing, `${kind} save ${key} of ${slotName(slot)} was let go by the rule`).to.equal(true);
    return at >= 0;
  });
  expect(left, `versions of ${slotName(slot)} that nobody made`).to.deep.equal([]);
}

function slotName({ player, number }: ModelSlot): string {
  return `slot ${number} of player ${player}`;
}
