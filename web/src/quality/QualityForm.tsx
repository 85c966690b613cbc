import { useId, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { QualityMaximum, QualityRequest } from "#contracts/streamQuality.ts";
import { listFrameRates, listSizes, describePresets } from "./qualityText.ts";

/** Chooses a preset, and a size and frame rate that override it. Every choice calls `onChange`. */
export function QualityForm({
  value,
  maximum,
  isDisabled = false,
  onChange,
}: {
  value: QualityRequest;
  maximum: QualityMaximum;
  isDisabled?: boolean;
  onChange: (quality: QualityRequest) => void;
}) {
  const { t } = useTranslation("quality");
  const name = useId();
  const size =
    value.width === undefined || value.height === undefined ? "" : `${value.width}x${value.height}`;
  const sizes = listSizes(maximum).map(({ width, height }) => ({
    value: `${width}x${height}`,
    text: `${width} × ${height}`,
  }));
  const rates = listFrameRates(maximum).map((rate) => ({
    value: String(rate),
    text: t("framesPerSecond", { fps: rate }),
  }));
  return (
    <fieldset className="quality" disabled={isDisabled}>
      <legend className="visually-hidden">{t("legend")}</legend>
      {describePresets(maximum).map(({ preset, name: title, about }) => (
        <label key={preset} className="quality-preset">
          <input
            type="radio"
            name={name}
            value={preset}
            checked={(value.preset ?? "auto") === preset}
            onChange={() => onChange({ preset })}
          />
          <span>
            <strong>{title}</strong>
            <span className="muted">{about}</span>
          </span>
        </label>
      ))}
      <div className="quality-details">
        <Choice
          label={t("largestPicture")}
          value={size}
          options={sizes}
          onChange={(chosen) => onChange({ ...value, ...sizeOf(chosen) })}
        />
        <Choice
          label={t("frames")}
          value={String(value.fps ?? "")}
          options={rates}
          onChange={(chosen) => onChange({ ...value, fps: chosen === "" ? undefined : Number(chosen) })}
        />
      </div>
    </fieldset>
  );
}

function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: ReactNode;
  value: string;
  options: { value: string; text: string }[];
  onChange: (value: string) => void;
}) {
  const { t } = useTranslation("quality");
  // A choice from a time with another maximum stays visible.
  const listed =
    value === "" || options.some((option) => option.value === value)
      ? options
      : [...options, { value, text: value.replace("x", " × ") }];
  return (
    <label className="field">
      {label}
      <select value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">{t("presetDefault")}</option>
        {listed.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </label>
  );
}

function sizeOf(chosen: string): Pick<QualityRequest, "width" | "height"> {
  const [width, height] = chosen.split("x").map(Number);
  return chosen === "" ? { width: undefined, height: undefined } : { width, height };
}
