import type { ComponentProps } from "react";

/**
 * A button, also for submitting a form, that does nothing while `isBusy`. Unlike a disabled button it keeps
 * the focus.
 */
export function ActionButton({
  isBusy,
  onClick,
  ...button
}: Omit<ComponentProps<"button">, "onClick" | "aria-disabled"> & { isBusy: boolean; onClick?: () => void }) {
  return (
    <button
      type="button"
      {...button}
      aria-disabled={isBusy}
      onClick={(event) => {
        if (isBusy) event.preventDefault();
        else onClick?.();
      }}
    />
  );
}
