import { Component, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "react-router";
import { Notice } from "./components/Notice.tsx";
import { PlayFrame } from "./play/PlayFrame.tsx";

/** Shows a notice in place of a page that threw an error, until the player opens another page. */
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

  /** Called by React with the error that a page has thrown. */
  static getDerivedStateFromError(): Partial<BoundaryState> {
    return { hasFailed: true };
  }

  /** Called by React before each render: a page at another address has not failed. */
  static getDerivedStateFromProps({ pathname }: BoundaryProps, state: BoundaryState): BoundaryState | null {
    return pathname === state.pathname ? null : { hasFailed: false, pathname };
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    return <FailureNotice />;
  }
}

function FailureNotice() {
  const { t } = useTranslation();
  return (
    <PlayFrame>
      <Notice
        tone="problem"
        title={t("pageFailure.title")}
        isPage
        actions={
          <button type="button" className="button button-primary" onClick={() => window.location.reload()}>
            {t("pageFailure.reload")}
          </button>
        }
      >
        <p>{t("pageFailure.text")}</p>
      </Notice>
    </PlayFrame>
  );
}
