/** Outlines on a 24 × 24 grid. */
const paths = {
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14Zm5-2 5 5",
  heart:
    "M12 20s-7.5-4.6-9-9.2C1.9 7.2 4.2 4.5 7.2 4.5c2 0 3.7 1.1 4.8 2.9 1.1-1.8 2.8-2.9 4.8-2.9 3 0 5.3 2.7 4.2 6.3C19.5 15.4 12 20 12 20Z",
  play: "M8 5.5v13l11-6.5-11-6.5Z",
  plus: "M12 5v14M5 12h14",
  stop: "M7 7h10v10H7z",
  expand: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  shrink: "M9 4v5H4M15 4v5h5M9 20v-5H4M15 20v-5h5",
  keyboard: "M3 7h18v10H3zM7 10.5h.01M10.5 10.5h.01M14 10.5h.01M17.5 10.5h.01M8 14h8",
  pointer: "M5 3l6.5 16 2.2-6.3L20 10.5 5 3Z",
  sound: "M4 9.5v5h3.5L12 18.5v-13L7.5 9.5H4ZM15.5 9a4 4 0 0 1 0 6M18 6.5a8 8 0 0 1 0 11",
  muted: "M4 9.5v5h3.5L12 18.5v-13L7.5 9.5H4ZM16 9.5l5 5M21 9.5l-5 5",
  sliders: "M4 8h9M18 8h2M15.5 5.5v5M4 16h3M12 16h8M9.5 13.5v5",
  chart: "M4 20V10M10 20V4M16 20v-7M21 20H3",
  check: "M5 12.5l4.5 4.5L19 7",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7v5l3.5 2",
  back: "M14.5 5l-7 7 7 7",
  leave: "M14 5H6v14h8M11 12h9M17 8.5l3.5 3.5-3.5 3.5",
  menu: "M5 12h.01M12 12h.01M19 12h.01",
  warning: "M12 4 2.5 20h19L12 4ZM12 10v4M12 17h.01",
  save: "M5 4h11l3 3v13H5V4ZM8.5 4v5h6V4M8.5 20v-6h7v6",
  link: "M10 6H6v12h12v-4M13 5h6v6M19 5l-9 9",
} as const;

export type IconName = keyof typeof paths;

/** A small icon next to a word, hidden from screen readers. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 24 24"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={paths[name]} />
    </svg>
  );
}

/** The logo of Joypod. */
export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 32 22" aria-hidden="true">
      <rect x="1" y="1" width="30" height="20" rx="10" fill="currentColor" />
      <g className="logo-face">
        <path d="M10 6v10M5 11h10" strokeWidth="3" strokeLinecap="round" />
        <circle cx="20.5" cy="13.5" r="2.4" />
        <circle cx="25" cy="8.5" r="2.4" />
      </g>
    </svg>
  );
}
