import type { GameDetail, GamesQuery } from "#contracts/http/catalog.ts";
import { CatalogCounts } from "./catalogCounts.ts";
import { catalogPageQuery, fewMax, listColumns } from "./catalogPageQuery.ts";
import type { Queryable } from "../stores/queryable.ts";

/** A page of the catalogue. */
export interface CatalogPage {
  /**
   * A JSON array of the contract's `GameListItem`s, which is passed on unread from the database to the
   * client.
   */
  gamesJson: string;
  total: number;
}

/** A game with all its details and the user's save slots. */
export interface CatalogDetail extends Omit<GameDetail, "saveSlots"> {
  slots: { id: string; number: number; label: string; lastPlayedAt: string }[];
}

/**
 * Returns one page of the catalogue as the user sees it; `counts` are those of earlier pages, and addresses
 * of pictures begin with `picturesAddress`.
 */
export async function listCatalogGames(
  db: Queryable,
  userId: string,
  query: GamesQuery,
  counts = new CatalogCounts(),
  picturesAddress = "",
): Promise<CatalogPage> {
  const filter = JSON.stringify([query.search?.toLowerCase(), query.tag?.toLowerCase()]);
  const { name, text, values } = catalogPageQuery(query, counts.find(filter), picturesAddress);
  const {
    rows: [page],
  } = await db.query<CatalogPage & { revision: string }>({ name, text, values: [userId, ...values] });
  if (page === undefined) return { total: 0, gamesJson: "[]" };
  if (page.total <= fewMax) counts.forget(filter);
  else if (query.search || query.tag) counts.keep(filter, { revision: page.revision, total: page.total });
  return { total: page.total, gamesJson: page.gamesJson };
}

/** Returns one game of the catalogue; undefined for one that is not (or no longer) in it. */
export async function findCatalogGame(
  db: Queryable,
  userId: string,
  slug: string,
  picturesAddress = "",
): Promise<CatalogDetail | undefined> {
  const { rows } = await db.query<CatalogDetail>({
    name: "find-catalog-game",
    text: `
      SELECT ${listColumns("$3::text")}, g.screenshots, coalesce(g.content_rating, '') AS "contentRating", g.languages, coalesce(g.website, '') AS website,
        (SELECT coalesce(json_agg(json_build_object(
            'id', s.id, 'number', s.number, 'label', COALESCE(s.custom_label, s.label), 'lastPlayedAt', s.last_played_at) ORDER BY s.number), '[]')
          FROM save_slots s WHERE s.user_id = $1 AND s.game_id = g.id) AS slots
      FROM games g WHERE g.slug = $2 AND g.status = 'active' AND g.deleted_at IS NULL`,
    values: [userId, slug, picturesAddress],
  });
  return rows[0];
}
