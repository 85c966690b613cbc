import { Link } from "react-router";
import { Notice } from "../components/Notice.tsx";
import { useTitle } from "../components/useTitle.ts";

/** Shown for an address that has no page. */
export function NotFoundPage() {
  useTitle("Not found");
  return (
    <Notice
      isPage
      title="There is nothing here"
      actions={
        <Link className="button button-primary" to="/">
          All games
        </Link>
      }
    >
      <p>The address may be mistyped.</p>
    </Notice>
  );
}
