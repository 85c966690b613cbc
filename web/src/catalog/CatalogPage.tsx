import { useCallback, useEffect, useRef, type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { useSearchParams } from "react-router";
import { limits } from "#contracts/limits.ts";
import { Icon } from "../components/Icon.tsx";
import { LoadFailure, Notice, Spinner } from "../components/Notice.tsx";
import { useTitle } from "../components/useTitle.ts";
import { t } from "../i18n.ts";
import { CardSkeleton, GameCard } from "./GameCard.tsx";
import { HomeRows } from "./HomeRows.tsx";
import { useCatalog, type Catalog, type CatalogFilters, useKnownTags, isSameTag } from "./useCatalog.ts";

const typingPauseMs = 250;

const sorts = ["title", "popular", "createdAt", "lastPlayed"] as const;

interface CatalogFilterBarProps {
  filters: CatalogFilters;
  /** Tags to choose from. */
  tags: readonly string[];
  onChange: (change: Partial<CatalogFilters>) => void;
}

/** All games that match the filters in the address. */
export function CatalogPage() {
  const { t } = useTranslation("catalog");
  useTitle(undefined);
  const [filters, changeFilters] = useFilters();
  const catalog = useCatalog(filters);
  const tags = useKnownTags(catalog.games, filters.tag);
  const clear = (): void => changeFilters({ search: "", tag: "", favorites: false });
  return (
    <>
      <div className="page-head">
        <h1>{t("title")}</h1>
        <p className="muted" role="status">
          {countText(catalog)}
        </p>
      </div>
      <CatalogFilterBar filters={filters} tags={tags} onChange={changeFilters} />
      {isHome(filters) && (
        <>
          <HomeRows total={catalog.total} />
          <h2 className="all-games">{t("rows.all")}</h2>
        </>
      )}
      {catalog.state === "failed" && catalog.games.length === 0 ? (
        <LoadFailure title={t("loadFailed")} error={catalog.error} onRetry={catalog.loadMore} />
      ) : (
        <GameGrid catalog={catalog} empty={<NothingFound filters={filters} onClear={clear} />} />
      )}
      <MoreGames catalog={catalog} />
    </>
  );
}

/** Returns whether nothing narrows or sorts the catalogue. */
function isHome({ search, tag, sort, favorites }: CatalogFilters): boolean {
  return search === "" && tag === "" && sort === "title" && !favorites;
}

/** Reads the filters from the address, and returns a function that changes them there. */
function useFilters(): [CatalogFilters, (change: Partial<CatalogFilters>) => void] {
  const [query, setQuery] = useSearchParams();
  const filters = {
    search: query.get("q") ?? "",
    tag: query.get("tag") ?? "",
    sort: asSort(query.get("sort")),
    favorites: query.get("favorites") === "true",
  };
  const change = useCallback(
    (changed: Partial<CatalogFilters>) => {
      // The player may open a game before the search box reports: changing the address would lead back here.
      if (location.pathname !== "/") return;
      setQuery((before) => changedQuery(before, changed), { replace: true, preventScrollReset: true });
    },
    [setQuery],
  );
  return [filters, change];
}

function changedQuery(
  before: URLSearchParams,
  { search, tag, sort, favorites }: Partial<CatalogFilters>,
): URLSearchParams {
  const after = new URLSearchParams(before);
  const entries = {
    q: search,
    tag,
    sort: sort === "title" ? "" : sort,
    favorites: favorites === false ? "" : favorites?.toString(),
  };
  for (const [name, value] of Object.entries(entries)) {
    if (value === "") after.delete(name);
    else if (value !== undefined) after.set(name, value);
  }
  return after;
}

function GameGrid({ catalog: { games, state }, empty }: { catalog: Catalog; empty: ReactNode }) {
  const { t } = useTranslation("catalog");
  if (games.length === 0 && state === "ready") return empty;
  return (
    <ul className="grid" aria-label={t("title")} aria-busy={state === "loading"}>
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
  filters: { search, tag, favorites },
  onClear,
}: {
  filters: CatalogFilters;
  onClear: () => void;
}) {
  const { t } = useTranslation("catalog");
  if (search === "" && tag === "" && favorites)
    return (
      <Notice title={t("noFavorites.title")}>
        <p>{t("noFavorites.text")}</p>
      </Notice>
    );
  if (search === "" && tag === "")
    return (
      <Notice title={t("empty.title")}>
        <p>{t("empty.text")}</p>
      </Notice>
    );
  return (
    <Notice
      title={t("nothingFound.title")}
      actions={
        <button type="button" className="button" onClick={onClear}>
          {t("nothingFound.showAll")}
        </button>
      }
    >
      <p>
        {t(`nothingFound.${tag === "" ? "search" : search === "" ? "tag" : "searchAndTag"}`, { search, tag })}
      </p>
    </Notice>
  );
}

/** Loads the next page when the end of the list becomes visible, and has a button for that. */
function MoreGames({ catalog: { state, hasMore, games, error, loadMore } }: { catalog: Catalog }) {
  const { t } = useTranslation("catalog");
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
    return <LoadFailure title={t("loadMoreFailed")} error={error} onRetry={loadMore} />;
  return (
    <div ref={end} className="more">
      {state === "loadingMore" && <Spinner label={t("loadingMore")} />}
      {isWaiting && (
        <button type="button" className="button" onClick={loadMore}>
          {t("loadMore")}
        </button>
      )}
    </div>
  );
}

function countText({ state, total }: Catalog): string {
  if (state === "loading" || state === "failed") return "";
  return t("catalog:count", { count: total });
}

/** The search box, order and tags of the catalogue. */
function CatalogFilterBar({ filters, tags, onChange }: CatalogFilterBarProps) {
  const { t } = useTranslation("catalog");
  return (
    <search className="filters">
      <SearchBox value={filters.search} onChange={(search) => onChange({ search })} />
      <label className="sort">
        <span>{t("filters.sortBy")}</span>
        <select value={filters.sort} onChange={({ target }) => onChange({ sort: asSort(target.value) })}>
          {sorts.map((sort) => (
            <option key={sort} value={sort}>
              {t(`filters.${sort}`)}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        className="tag"
        aria-pressed={filters.favorites}
        onClick={() => onChange({ favorites: !filters.favorites })}
      >
        <Icon name="heart" />
        {t("filters.favorites")}
      </button>
      {tags.length > 0 && (
        <div className="tags" role="group" aria-label={t("filters.tags")}>
          {["", ...tags].map((tag) => (
            <button
              key={tag}
              type="button"
              className="tag"
              aria-pressed={isSameTag(filters.tag, tag)}
              onClick={() => onChange({ tag })}
            >
              {tag === "" ? t("filters.allTags") : tag}
            </button>
          ))}
        </div>
      )}
    </search>
  );
}

/** Returns the sort order with this name, or the default one. */
function asSort(value: string | null): CatalogFilters["sort"] {
  return sorts.find((sort) => sort === value) ?? "title";
}

/** Reports the typed text as soon as the player pauses. */
function SearchBox({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const { t } = useTranslation("catalog");
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
        aria-label={t("filters.search")}
        placeholder={t("filters.searchHint")}
        autoComplete="off"
        maxLength={limits.catalog.searchMaxLength}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
    </div>
  );
}
