import { useCallback, useEffect, useRef, type ReactNode, useState } from "react";
import { useSearchParams } from "react-router";
import { LoadFailure, Notice, Spinner } from "../components/Notice.tsx";
import { useTitle } from "../components/useTitle.ts";
import { CardSkeleton, GameCard } from "./GameCard.tsx";
import { useCatalog, type Catalog, type CatalogFilters, useKnownTags, isSameTag } from "./useCatalog.ts";
import { limits } from "#contracts/limits.ts";
import { Icon } from "../components/Icon.tsx";

const typingPauseMs = 250;

const sorts = { title: "A to Z", popular: "Most played", createdAt: "Newest" } as const;

interface CatalogFilterBarProps {
  filters: CatalogFilters;
  /** Tags to choose from. */
  tags: readonly string[];
  onChange: (change: Partial<CatalogFilters>) => void;
}

/** All games, narrowed by the filters in the address. */
export function CatalogPage() {
  useTitle(undefined);
  const [filters, changeFilters] = useFilters();
  const catalog = useCatalog(filters);
  const tags = useKnownTags(catalog.games, filters.tag);
  const clear = (): void => changeFilters({ search: "", tag: "" });
  return (
    <>
      <div className="page-head">
        <h1>Games</h1>
        <p className="muted" role="status">
          {countText(catalog)}
        </p>
      </div>
      <CatalogFilterBar filters={filters} tags={tags} onChange={changeFilters} />
      {catalog.state === "failed" && catalog.games.length === 0 ? (
        <LoadFailure what="The games" error={catalog.error} onRetry={catalog.loadMore} />
      ) : (
        <GameGrid catalog={catalog} empty={<NothingFound filters={filters} onClear={clear} />} />
      )}
      <MoreGames catalog={catalog} />
    </>
  );
}

/** Reads the filters from the address, and returns a function that changes them there. */
function useFilters(): [CatalogFilters, (change: Partial<CatalogFilters>) => void] {
  const [query, setQuery] = useSearchParams();
  const filters = {
    search: query.get("q") ?? "",
    tag: query.get("tag") ?? "",
    sort: asSort(query.get("sort")),
  };
  const change = useCallback(
    (changed: Partial<CatalogFilters>) => {
      // The player opened a game before the search box reported what was typed: a change of the address would
      // lead back here.
      if (location.pathname !== "/") return;
      setQuery((before) => changedQuery(before, changed), { replace: true, preventScrollReset: true });
    },
    [setQuery],
  );
  return [filters, change];
}

function changedQuery(
  before: URLSearchParams,
  { search, tag, sort }: Partial<CatalogFilters>,
): URLSearchParams {
  const after = new URLSearchParams(before);
  const entries = { q: search, tag, sort: sort === "title" ? "" : sort };
  for (const [name, value] of Object.entries(entries)) {
    if (value === "") after.delete(name);
    else if (value !== undefined) after.set(name, value);
  }
  return after;
}

function GameGrid({ catalog: { games, state }, empty }: { catalog: Catalog; empty: ReactNode }) {
  if (games.length === 0 && state === "ready") return empty;
  return (
    <ul className="grid" aria-label="Games" aria-busy={state === "loading"}>
      {games.length === 0
        ? Array.from({ length: 8 }, (_card, place) => (
            <li key={place}>
              <CardSkeleton />
            </li>
          ))
        : games.map((game) => (
            <li key={game.id}>
              <GameCard game={game} />
            </li>
          ))}
    </ul>
  );
}

function NothingFound({
  filters: { search, tag },
  onClear,
}: {
  filters: CatalogFilters;
  onClear: () => void;
}) {
  if (search === "" && tag === "")
    return (
      <Notice title="No games yet">
        <p>As soon as a partner uploads a game it appears here.</p>
      </Notice>
    );
  return (
    <Notice
      title="Nothing found"
      actions={
        <button type="button" className="button" onClick={onClear}>
          Show all games
        </button>
      }
    >
      <p>
        No game matches{" "}
        {[search !== "" && `“${search}”`, tag !== "" && `the tag “${tag}”`].filter(Boolean).join(" and ")}.
      </p>
    </Notice>
  );
}

/**
 * Loads the next page when the end of the list comes into view; the button does the same for players who do
 * not scroll.
 */
function MoreGames({ catalog: { state, hasMore, games, error, loadMore } }: { catalog: Catalog }) {
  const end = useRef<HTMLDivElement>(null);
  const isWaiting = state === "ready" && hasMore;
  useEffect(() => {
    if (!isWaiting || end.current === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) loadMore();
      },
      { rootMargin: "600px" },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [isWaiting, loadMore]);
  if (state === "failed" && games.length > 0)
    return <LoadFailure what="More games" error={error} onRetry={loadMore} />;
  return (
    <div ref={end} className="more">
      {state === "loadingMore" && <Spinner label="Loading more games…" />}
      {isWaiting && (
        <button type="button" className="button" onClick={loadMore}>
          Load more games
        </button>
      )}
    </div>
  );
}

function countText({ state, total }: Catalog): string {
  if (state === "loading" || state === "failed") return "";
  return total === 1 ? "1 game" : `${total} games`;
}

/** Search box, order and tags of the catalogue. */
function CatalogFilterBar({ filters, tags, onChange }: CatalogFilterBarProps) {
  return (
    <search className="filters">
      <SearchBox value={filters.search} onChange={(search) => onChange({ search })} />
      <label className="sort">
        <span>Sort by</span>
        <select value={filters.sort} onChange={({ target }) => onChange({ sort: asSort(target.value) })}>
          {Object.entries(sorts).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {tags.length > 0 && (
        <div className="tags" role="group" aria-label="Tags">
          {["", ...tags].map((tag) => (
            <button
              key={tag}
              type="button"
              className="tag"
              aria-pressed={isSameTag(filters.tag, tag)}
              onClick={() => onChange({ tag })}
            >
              {tag === "" ? "All" : tag}
            </button>
          ))}
        </div>
      )}
    </search>
  );
}

/** Returns the order of that name; the default one if there is none. */
function asSort(value: string | null): CatalogFilters["sort"] {
  return value === "popular" || value === "createdAt" ? value : "title";
}

/** Reports what was typed as soon as the player pauses. */
function SearchBox({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  const reported = useRef(value);
  useEffect(() => {
    // The value changed from outside, for example by the back button.
    if (value === reported.current) return;
    reported.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === reported.current) return;
    const timer = setTimeout(() => {
      reported.current = wanted;
      onChange(wanted);
    }, typingPauseMs);
    return () => clearTimeout(timer);
  }, [text, onChange]);
  return (
    <div className="search">
      <Icon name="search" />
      <input
        type="search"
        aria-label="Search games"
        placeholder="Search games and developers"
        autoComplete="off"
        maxLength={limits.catalog.searchMaxLength}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
    </div>
  );
}
