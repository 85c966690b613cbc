import { Component, type ReactNode } from "react";
import { useLocation } from "react-router";
import { PlayFrame } from "./play/PlayFrame.tsx";
import { Notice } from "./components/Notice.tsx";

/**
 * Says what can be done where a page fails to show, until another page is gone to: without it the window
 * would be empty.
 */
export function PageFailure({ children }: { children: ReactNode }) {
  const { pathname } = useLocation();
  return <FailureBoundary pathname={pathname}>{children}</FailureBoundary>;
}

interface BoundaryProps {
  pathname: string;
  children: ReactNode;
}

interface BoundaryState {
  hasFailed: boolean;
  pathname: string;
}

class FailureBoundary extends Component<BoundaryProps, BoundaryState> {
  override state = { hasFailed: false, pathname: this.props.pathname };

  /** Called by React with what a page has thrown. */
  static getDerivedStateFromError(): Partial<BoundaryState> {
    return { hasFailed: true };
  }

  /** Called by React before each render: what failed was the page at another address. */
  static getDerivedStateFromProps({ pathname }: BoundaryProps, state: BoundaryState): BoundaryState | null {
    return pathname === state.pathname ? null : { hasFailed: false, pathname };
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <PlayFrame>
        <Notice
          tone="problem"
          title="This page could not be shown"
          isPage
          actions={
            <button type="button" className="button button-primary" onClick={() => window.location.reload()}>
              Reload
            </button>
          }
        >
          <p>A game that runs goes on meanwhile.</p>
        </Notice>
      </PlayFrame>
    );
  }
}
