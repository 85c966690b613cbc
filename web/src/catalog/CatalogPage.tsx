import { useCallback, useEffect, useRef, type ReactNode } from "react";
import { useSearchParams } from "react-router";
import { CatalogFilters, asSort, type Filters } from "./CatalogFilters.tsx";
import { CardSkeleton, GameCard } from "./GameCard.tsx";
import { LoadFailure, Notice, Spinner } from "../components/Notice.tsx";
import { useAuth } from "../signIn/useAuth.tsx";
import { useCatalog, type Catalog } from "./useCatalog.ts";
import { useKnownTags } from "./useKnownTags.ts";
import { useTitle } from "../components/useTitle.ts";

/** All games, narrowed by what is in the address. */
export function CatalogPage() {
  useTitle(undefined);
  const { noticeError } = useAuth();
  const [filters, changeFilters] = useFilters();
  const { catalog, loadMore, retry, setFavorite } = useCatalog(filters, noticeError);
  const tags = useKnownTags(catalog.games, filters.tag);
  const clear = (): void => changeFilters({ search: "", tag: "" });
  return (
    <>
      <div className="page-head">
        <h1>Games</h1>
        <p className="muted" role="status">{countText(catalog)}</p>
      </div>
      <CatalogFilters filters={filters} tags={tags} onChange={changeFilters} />
      {catalog.state === "failed" && catalog.games.length === 0
        ? <LoadFailure what="The games" error={catalog.error} onRetry={retry} />
        : <GameGrid catalog={catalog} onFavorite={setFavorite} empty={<NothingFound filters={filters} onClear={clear} />} />}
      <MoreGames catalog={catalog} onMore={loadMore} />
    </>
  );
}

function useFilters(): [Filters, (change: Partial<Filters>) => void] {
  const [query, setQuery] = useSearchParams();
  const filters = { search: query.get("q") ?? "", tag: query.get("tag") ?? "", sort: asSort(query.get("sort")) };
  const change = useCallback((changed: Partial<Filters>) => {
    // A game was opened before the typing had paused: to change the address now would lead back here.
    if (location.pathname !== "/") return;
    setQuery((before) => changedQuery(before, changed), { replace: true, preventScrollReset: true });
  }, [setQuery]);
  return [filters, change];
}

function changedQuery(before: URLSearchParams, { search, tag, sort }: Partial<Filters>): URLSearchParams {
  const after = new URLSearchParams(before);
  const entries = { q: search, tag, sort: sort === "title" ? "" : sort };
  for (const [name, value] of Object.entries(entries)) {
    if (value === "") after.delete(name);
    else if (value !== undefined) after.set(name, value);
  }
  return after;
}

function GameGrid({ catalog: { games, state }, onFavorite, empty }: {
  catalog: Catalog;
  onFavorite: (gameId: string, isFavorite: boolean) => void;
  empty: ReactNode;
}) {
  if (games.length === 0 && state === "ready") return empty;
  return (
    <ul className="grid" aria-label="Games" aria-busy={state === "loading"}>
      {games.length === 0
        ? Array.from({ length: 8 }, (_card, place) => <li key={place}><CardSkeleton /></li>)
        : games.map((game) => <li key={game.id}><GameCard game={game} onFavorite={onFavorite} /></li>)}
    </ul>
  );
}

function NothingFound({ filters: { search, tag }, onClear }: { filters: Filters; onClear: () => void }) {
  if (search === "" && tag === "") return <Notice title="No games yet"><p>As soon as a partner uploads a game it appears here.</p></Notice>;
  return (
    <Notice title="Nothing found" actions={<button type="button" className="button" onClick={onClear}>Show all games</button>}>
      <p>No game matches {[search !== "" && `“${search}”`, tag !== "" && `the tag “${tag}”`].filter(Boolean).join(" and ")}.</p>
    </Notice>
  );
}

/** Loads the next page when its end comes into view; the button does the same for those who do not scroll. */
function MoreGames({ catalog: { state, hasMore, games, error }, onMore }: { catalog: Catalog; onMore: () => void }) {
  const end = useRef<HTMLDivElement>(null);
  const isWaiting = state === "ready" && hasMore;
  useEffect(() => {
    if (!isWaiting || end.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) onMore();
    }, { rootMargin: "600px" });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [isWaiting, onMore]);
  if (state === "failed" && games.length > 0) return <LoadFailure what="More games" error={error} onRetry={onMore} />;
  return (
    <div ref={end} className="more">
      {state === "loadingMore" && <Spinner label="Loading more games…" />}
      {isWaiting && <button type="button" className="button" onClick={onMore}>Load more games</button>}
    </div>
  );
}

function countText({ state, total }: Catalog): string {
  if (state === "loading" || state === "failed") return "";
  return total === 1 ? "1 game" : `${total} games`;
}
