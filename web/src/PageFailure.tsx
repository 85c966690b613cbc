import { Component, type ReactNode } from "react";
import { PlayFrame } from "./play/PlayFrame.tsx";
import { Notice } from "./components/Notice.tsx";

/** Says what can be done where a page fails to show: without it the window would be empty. */
export class PageFailure extends Component<{ children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  /** Called by React with what a page has thrown. */
  static getDerivedStateFromError(): { hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <PlayFrame>
        <Notice tone="problem" title="This page could not be shown" isPage actions={<button type="button" className="button button-primary" onClick={() => window.location.reload()}>Reload</button>}>
          <p>A game that runs goes on meanwhile.</p>
        </Notice>
      </PlayFrame>
    );
  }
}
