interface RangeProps {
  label: string;
  value: number;
  max: number;
  step: number;
  /** Value as a text for screen readers. */
  text: string;
  /** Change of the value per press of an arrow key. */
  keyStep: number;
  /** Called while the user drags. */
  onDrag?: (value: number) => void;
  onChange: (value: number) => void;
}

/** Slider whose filled part has the accent colour. */
export function Range({ label, value, max, step, text, keyStep, onDrag, onChange }: RangeProps) {
  const fill = max > 0 ? `${(Math.min(value, max) / max) * 100}%` : "0%";
  const onKeyDown = (event: KeyboardEvent & { readonly currentTarget: HTMLElement }) => {
    const forward = event.currentTarget.matches(":dir(rtl)") ? "ArrowLeft" : "ArrowRight";
    if (!event.key.startsWith("Arrow") || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const sign = event.key === forward || event.key === "ArrowUp" ? 1 : -1;
    onChange(Math.min(max, Math.max(0, value + sign * keyStep)));
  };
  return (
    <input
      class="range"
      type="range"
      min="0"
      max={max}
      step={step}
      value={value}
      aria-label={label}
      aria-valuetext={text}
      style={{ "--fill": fill }}
      onKeyDown={onKeyDown}
      onInput={(event) => (onDrag ?? onChange)(event.currentTarget.valueAsNumber)}
      onChange={(event) => onChange(event.currentTarget.valueAsNumber)}
    />
  );
}
