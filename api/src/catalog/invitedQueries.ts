import type { Queryable } from "../stores/queryable.ts";
import { invisibleTo, invitedGamesOf, isListed, isNotInvisible } from "../games/gameVisibility.ts";
import { filterOf, keys, listColumns, type CatalogPage, type CatalogQuery } from "./catalogFilters.ts";

/**
 * Returns one page of the catalogue together with the games that are open to the player `$1` by invitation.
 * These are few, so they are merged into the sorted page. Only testers pay for that.
 */
export async function listWithInvitedGames(
  db: Queryable,
  userId: string,
  { sort, order, search, tag, page, limit }: CatalogQuery,
  picturesAddress: string,
): Promise<CatalogPage> {
  const filter = filterOf(search, tag);
  const sorted = keys[sort](order, "asc");
  const isFound = filter === undefined ? "true" : filter.walked;
  const total =
    filter === undefined
      ? "(SELECT listed - (SELECT count(*)::int FROM invisible) FROM catalog_totals)"
      : `(SELECT count(*)::int FROM games g WHERE ${isListed} AND ${filter.found} AND ${isNotInvisible})`;
  const { rows } = await db.query<CatalogPage>({
    name: `list-with-invited-${sort}-${order}-${filter?.name ?? "all"}`,
    text: `
      WITH ${invisibleTo("$1")}, invited AS MATERIALIZED (
        SELECT g.id FROM games g WHERE g.id IN (${invitedGamesOf("$1")}) AND ${isFound}
      ), page AS (
        SELECT g.id FROM (
          (SELECT g.id FROM games g WHERE ${isListed} AND ${isFound} AND ${isNotInvisible} ORDER BY ${sorted} LIMIT $2::int + $3::int)
          UNION ALL SELECT id FROM invited
        ) candidates JOIN games g USING (id) ORDER BY ${sorted} LIMIT $2 OFFSET $3
      )
      SELECT ${total} + (SELECT count(*)::int FROM invited) AS total, (SELECT coalesce(json_agg(row_to_json(listed)), '[]')::text FROM (
        SELECT ${listColumns("$4::text")} FROM page JOIN games g USING (id) ORDER BY ${sorted}
      ) listed) AS "gamesJson"`,
    values: [userId, limit, (page - 1) * limit, picturesAddress, ...(filter?.values ?? [])],
  });
  return rows[0] ?? { total: 0, gamesJson: "[]" };
}
