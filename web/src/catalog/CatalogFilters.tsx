import { useEffect, useRef, useState } from "react";
import type { CatalogQuery } from "../client/api.ts";
import { limits } from "#contracts/limits.ts";
import { Icon } from "../components/Icon.tsx";

const typingPauseMs = 250;

const sorts = { title: "A to Z", popular: "Most played", createdAt: "Newest" } as const;

/** How the catalogue is narrowed; all of it is in the page's address. */
export type Filters = Omit<CatalogQuery, "page">;

interface CatalogFiltersProps {
  filters: Filters;
  /** Tags to choose from. */
  tags: readonly string[];
  onChange: (change: Partial<Filters>) => void;
}

/** Search, order and tags. */
export function CatalogFilters({ filters, tags, onChange }: CatalogFiltersProps) {
  return (
    <search className="filters">
      <SearchBox value={filters.search} onChange={(search) => onChange({ search })} />
      <label className="sort">
        <span>Sort by</span>
        <select value={filters.sort} onChange={({ target }) => onChange({ sort: asSort(target.value) })}>
          {Object.entries(sorts).map(([value, name]) => <option key={value} value={value}>{name}</option>)}
        </select>
      </label>
      {tags.length > 0 && (
        <div className="tags" role="group" aria-label="Tags">
          {["", ...tags].map((tag) => (
            <button key={tag} type="button" className="tag" aria-pressed={filters.tag === tag} onClick={() => onChange({ tag })}>
              {tag === "" ? "All" : tag}
            </button>
          ))}
        </div>
      )}
    </search>
  );
}

/** Anything but a known order is the default one. */
export function asSort(value: string | null): Filters["sort"] {
  return value === "popular" || value === "createdAt" ? value : "title";
}

/** Tells what was typed once the typing pauses. */
function SearchBox({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  const told = useRef(value);
  useEffect(() => {
    // Changed from outside, by the back button for one.
    if (value === told.current) return;
    told.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === told.current) return;
    const timer = setTimeout(() => {
      told.current = wanted;
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
