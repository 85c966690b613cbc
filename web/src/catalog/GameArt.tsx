import { useId, useState } from "react";
import { artPattern, type ArtPattern } from "./artPattern.ts";

interface GameArtProps {
  slug: string;
  title: string;
  /** Address of the picture; empty for none. */
  thumbnail: string;
  isEager?: boolean;
}

/**
 * The picture of a game, or a pattern made from its name if there is no picture or it does not load. It is
 * decorative, because the title is always next to it.
 */
export function GameArt({ slug, title, thumbnail, isEager = false }: GameArtProps) {
  const [failed, setFailed] = useState("");
  if (thumbnail === "" || failed === thumbnail) return <DrawnArt pattern={artPattern(slug, title)} />;
  return (
    <img
      className="art"
      src={thumbnail}
      alt=""
      loading={isEager ? "eager" : "lazy"}
      decoding="async"
      onError={() => setFailed(thumbnail)}
    />
  );
}

function DrawnArt({ pattern: { hue, secondHue, shapes, initials } }: { pattern: ArtPattern }) {
  const id = useId();
  return (
    <svg className="art" viewBox="0 0 320 180" preserveAspectRatio="xMidYMid slice" aria-hidden="true">
      <defs>
        <linearGradient id={id} x1="0" y1="0" x2="1" y2="1">
          <stop offset="0" stopColor={`hsl(${hue} 58% 42%)`} />
          <stop offset="1" stopColor={`hsl(${secondHue} 62% 20%)`} />
        </linearGradient>
      </defs>
      <rect width="320" height="180" fill={`url(#${id})`} />
      <g fill="none" stroke={`hsl(${hue} 90% 84%)`} strokeWidth="5" strokeLinecap="round" opacity="0.28">
        {shapes.map((shape, place) => (
          <Shape key={place} {...shape} />
        ))}
      </g>
      <text x="24" y="150" className="art-initials" fill={`hsl(${hue} 95% 93%)`}>
        {initials}
      </text>
    </svg>
  );
}

function Shape({ x, y, size, turn, kind }: ArtPattern["shapes"][number]) {
  const half = size / 2;
  if (kind === "ring") return <circle cx={x} cy={y} r={half} />;
  if (kind === "dot")
    return <circle cx={x} cy={y} r={half / 4} fill="currentColor" stroke="none" className="art-dot" />;
  const lines =
    kind === "cross" ? `M${x - half} ${y}h${size}M${x} ${y - half}v${size}` : `M${x - half} ${y}h${size}`;
  return <path d={lines} transform={`rotate(${turn} ${x} ${y})`} />;
}
