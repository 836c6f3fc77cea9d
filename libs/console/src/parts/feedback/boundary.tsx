import { Component, type ReactNode } from 'react';

interface Props {
  /** What is shown instead of a part that cannot be drawn. */
  readonly instead: ReactNode;
  readonly children: ReactNode;
}

/** A part that fails does not take the rest of the view with it. */
export class Boundary extends Component<Props, { readonly failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render(): ReactNode {
    return this.state.failed ? this.props.instead : this.props.children;
  }
}
