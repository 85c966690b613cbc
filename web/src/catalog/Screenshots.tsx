import { useState } from "react";

/** Pictures of the game in a strip that scrolls sideways. A picture that does not load is not shown. */
export function Screenshots({ title, addresses }: { title: string; addresses: readonly string[] }) {
  const [broken, setBroken] = useState<readonly string[]>([]);
  const shown = [...new Set(addresses)].filter((address) => !broken.includes(address));
  if (shown.length === 0) return null;
  return (
    <section aria-labelledby="screenshots-title">
      <h2 id="screenshots-title">Screenshots</h2>
      <ul className="screenshots" tabIndex={0} aria-labelledby="screenshots-title">
        {shown.map((address, place) => (
          <li key={address}>
            <img
              src={address}
              alt={`${title}, picture ${place + 1}`}
              loading="lazy"
              decoding="async"
              onError={() => setBroken((before) => [...before, address])}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}
