import { repeatUpTo } from "#runtime/scheduling/backgroundJob.ts";

const statementsPerPassMax = 50;
const rowsPerStatement = 1000;

/**
 * Deletes rows by statements of bounded size, each of which says how many it deleted; what one pass leaves is
 * for the next.
 */
export async function deleteOldRows(deleteSome: (max: number) => Promise<number>): Promise<void> {
  await repeatUpTo(
    statementsPerPassMax,
    async () => (await deleteSome(rowsPerStatement)) === rowsPerStatement,
  );
}
