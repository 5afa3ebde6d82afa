import { countText } from '../text.ts';
import { type Html, type HtmlValue, html } from './html.ts';

/** A series of values: one part of every bar. */
export interface Series {
  readonly name: string;
  /** The class of its parts, which gives them their color. */
  readonly className: string;
}

/** A bar of a chart. */
export interface Bar {
  /** Its label, in the table and under the pointer. */
  readonly label: string;
  /** A number for each series, from the bottom up. */
  readonly values: readonly number[];
}

export interface BarChart {
  readonly title: string;
  /** The meaning of a bar, such as `Hour`: the heading of the table's first column. */
  readonly unit: string;
  readonly series: readonly Series[];
  readonly bars: readonly Bar[];
  /** The labels below the bars: at their beginning, their end, and evenly between. */
  readonly axis: readonly HtmlValue[];
}

/** The size of the drawing, which is stretched to the width of the page. */
const HEIGHT = 100;
const BAR_WIDTH = 10;
const GAP = 2;

/**
 * Returns stacked bars, drawn by the server, with a legend and the same numbers as a table. Texts are outside of the
 * drawing, so they keep their size on every screen. `chart.css` has its styles.
 */
export function barChart({ title, unit, series, bars, axis }: BarChart): Html {
  const top = roundUp(Math.max(1, ...bars.map(totalOf)));
  const width = bars.length * BAR_WIDTH;
  const shown = series.filter((_, index) => bars.some(({ values }) => values[index]! > 0));
  return html`<figure class="chart">
<figcaption><span class="title">${title}</span>
<ul class="legend">${shown.map(({ name, className }) => html`<li class="${className}">${name}</li>`)}</ul></figcaption>
<div class="plot" aria-hidden="true">
<div class="scale"><span>${countText(top)}</span><span>${countText(top / 2)}</span><span>0</span></div>
<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" focusable="false">
<path class="grid" d="M0 0.5H${width}M0 ${HEIGHT / 2}H${width}M0 ${HEIGHT - 0.5}H${width}"></path>
${bars.map((bar, index) => drawBar(bar, index * BAR_WIDTH + GAP / 2, series, top))}</svg>
<div class="axis">${axis.map(label => html`<span>${label}</span>`)}</div>
</div>
<details><summary>Show as a table</summary>
${chartTable({ title, unit, series, bars })}
</details>
</figure>`;
}

function drawBar({ label, values }: Bar, x: number, series: readonly Series[], top: number): Html {
  let y = HEIGHT;
  const parts = values.map((value, index) => {
    const height = (value / top) * HEIGHT;
    y -= height;
    return (
      value > 0 &&
      html`<rect class="${series[index]!.className}" x="${x}" y="${round(y)}" width="${BAR_WIDTH - GAP}" height="${round(height)}"></rect>`
    );
  });
  const total = totalOf({ label, values });
  return html`<g><title>${label}: ${countText(total)}</title><rect class="hit" x="${x - GAP / 2}" y="0" width="${BAR_WIDTH}" height="${HEIGHT}"></rect>${parts}</g>
`;
}

function chartTable({ title, unit, series, bars }: Omit<BarChart, 'axis'>): Html {
  return html`<div class="scroll" role="region" aria-label="${title}" tabindex="0"><table>
<caption class="sr-only">${title}</caption>
<thead><tr><th scope="col">${unit}</th>${series.map(({ name }) => html`<th scope="col" class="number">${name}</th>`)}<th scope="col" class="number">All</th></tr></thead>
<tbody>${bars.toReversed().map(
    bar => html`<tr><th scope="row">${bar.label}</th>${[...bar.values, totalOf(bar)].map(
      value => html`<td class="number">${countText(value)}</td>`,
    )}</tr>
`,
  )}</tbody></table></div>`;
}

function totalOf({ values }: Bar): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Returns the next number of the form 2, 4, 10, 20, 40, 100, … whose half is a whole number too. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 4, 6, 8, 10].find(step => step * power >= value && (step * power) % 2 === 0);
  return (step ?? 20) * power;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
