import type { GameDetail } from "#contracts/http/catalog.ts";
import { Link } from "react-router";
import { parseUrl } from "../client/parseUrl.ts";
import { Icon } from "../components/Icon.tsx";
import { dateText } from "../components/timeText.ts";
import { languageNames } from "./languageNames.ts";

/** The short facts beside the description. Facts that the developer did not give are not shown. */
export function GameFacts({ game }: { game: GameDetail }) {
  const facts = [
    ["Released", dateText(game.releaseDate)],
    ["Rating", game.contentRating],
    ["Languages", languageNames(game.languages)],
  ].filter(([, value]) => value !== "");
  const hasWebsite = isWebAddress(game.website);
  return (
    <aside className="facts" aria-label="Facts">
      {(facts.length > 0 || hasWebsite) && (
        <dl>
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
          {hasWebsite && (
            <div>
              <dt>Website</dt>
              <dd>
                <a href={game.website} target="_blank" rel="noopener noreferrer">
                  {new URL(game.website).host} <Icon name="link" />
                </a>
              </dd>
            </div>
          )}
        </dl>
      )}
      {game.tags.length > 0 && (
        <ul className="tags" aria-label="Tags">
          {game.tags.map((tag) => (
            <li key={tag}>
              <Link className="tag" to={`/?${new URLSearchParams({ tag })}`}>
                {tag}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </aside>
  );
}

/** Partners write these addresses: only web addresses become links. */
function isWebAddress(address: string): boolean {
  return /^https?:\/\//i.test(address) && parseUrl(address) !== undefined;
}
