import { useEffect, useRef, useState } from "react";
import { limits } from "#contracts/limits.ts";
import { Icon } from "../components/Icon.tsx";
import type { CatalogFilters } from "./useCatalog.ts";
import { isSameTag } from "./useKnownTags.ts";

const typingPauseMs = 250;

const sorts = { title: "A to Z", popular: "Most played", createdAt: "Newest" } as const;

interface CatalogFilterBarProps {
  filters: CatalogFilters;
  /** Tags to choose from. */
  tags: readonly string[];
  onChange: (change: Partial<CatalogFilters>) => void;
}

/** Search box, order and tags of the catalogue. */
export function CatalogFilterBar({ filters, tags, onChange }: CatalogFilterBarProps) {
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
export function asSort(value: string | null): CatalogFilters["sort"] {
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
