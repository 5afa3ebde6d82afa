// The shapes that drawings consist of, in a square of 600 units. Each function returns SVG.

export const INK = '#2f2622';

export const oval = (cx: number, cy: number, rx: number, ry: number, fill: string, turn = 0) =>
  `<ellipse cx="${cx}" cy="${cy}" rx="${rx}" ry="${ry}" fill="${fill}"${turn === 0 ? '' : ` transform="rotate(${turn} ${cx} ${cy})"`}/>`;
export const dot = (cx: number, cy: number, r: number, fill: string) => oval(cx, cy, r, r, fill);
export const area = (d: string, fill: string) => `<path d="${d}" fill="${fill}"/>`;
export const line = (d: string, color: string, width: number) =>
  `<path d="${d}" fill="none" stroke="${color}" stroke-width="${width}" stroke-linecap="round" stroke-linejoin="round"/>`;
export const faded = (opacity: number, ...shapes: readonly string[]) =>
  `<g opacity="${opacity}">${shapes.join('')}</g>`;

/** Draws shapes of the left half, and once more mirrored. */
export const both = (...shapes: readonly string[]) =>
  `${shapes.join('')}<g transform="matrix(-1 0 0 1 600 0)">${shapes.join('')}</g>`;

/** Draws shapes within the outline of another one. */
export const within = (id: string, outline: string, ...shapes: readonly string[]) =>
  `<clipPath id="${id}">${outline}</clipPath><g clip-path="url(#${id})">${shapes.join('')}</g>`;

/** Returns a color made darker, or lighter by a negative share. */
export function shade(color: string, share: number): string {
  const target = share < 0 ? 255 : 0;
  const parts = [1, 3, 5].map(at => Number.parseInt(color.slice(at, at + 2), 16));
  return `#${parts
    .map(part =>
      Math.round(part + (target - part) * Math.abs(share))
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`;
}

/** Reports whether dark lines cannot be seen on a color. */
export function isDark(color: string): boolean {
  return [1, 3, 5].every(at => Number.parseInt(color.slice(at, at + 2), 16) < 96);
}

/** An eye that looks at the viewer. @param iris its color; none for dark eyes */
export function eye(cx: number, cy: number, r: number, iris?: string, slit = false): string {
  const pupil = slit ? oval(cx, cy, r * 0.36, r * 0.82, INK) : dot(cx, cy, r * 0.62, INK);
  return [
    iris === undefined ? dot(cx, cy, r, INK) : oval(cx, cy, r, r * 1.08, iris) + pupil,
    dot(cx + r * 0.32, cy - r * 0.38, r * 0.32, '#ffffff'),
    dot(cx - r * 0.34, cy + r * 0.36, r * 0.14, '#ffffff'),
  ].join('');
}

/** The name of a ground, and its colors. */
export interface Ground {
  readonly kind: 'hills' | 'room' | 'plain' | 'sea' | 'leaves' | 'sand';
  readonly top: string;
  readonly bottom: string;
}

/** Draws what is behind an animal. */
export function ground({ kind, top, bottom }: Ground): string {
  const sky = `<linearGradient id="sky" x2="0" y2="1"><stop stop-color="${shade(top, -0.25)}"/><stop offset="1" stop-color="${top}"/></linearGradient><rect width="600" height="600" fill="url(#sky)"/>`;
  return sky + grounds[kind](top, bottom);
}

const grounds: Record<Ground['kind'], (top: string, bottom: string) => string> = {
  hills: (top, bottom) =>
    [
      dot(490, 110, 56, '#fff3c4'),
      faded(0.8, oval(120, 120, 62, 24, '#ffffff'), oval(160, 104, 46, 28, '#ffffff')),
      area('M0 430 C150 350 280 400 600 360 V600 H0Z', shade(bottom, -0.2)),
      area('M0 500 C200 430 400 480 600 450 V600 H0Z', bottom),
      ...[60, 130, 480, 550].map((x, index) =>
        flower(x, 525 + (index % 2) * 34, index % 2 ? '#fff6e0' : shade(top, -0.55)),
      ),
    ].join(''),
  room: (top, bottom) =>
    [
      `<rect x="60" y="70" width="150" height="190" rx="75" fill="${shade(top, -0.5)}"/>`,
      line('M135 72 V260 M60 170 H210', shade(top, 0.06), 6),
      faded(0.6, dot(500, 150, 64, shade(top, 0.1)), dot(500, 150, 40, shade(top, -0.4))),
      area('M0 480 H600 V600 H0Z', bottom),
      faded(0.4, area('M0 480 H600 V494 H0Z', shade(bottom, 0.25))),
    ].join(''),
  plain: (top, bottom) =>
    [
      dot(300, 300, 252, shade(top, -0.35)),
      ...[0, 1, 2, 3, 4, 5, 6].map(n => dot(50 + ((n * 197) % 520), 60 + ((n * 131) % 480), 9 + (n % 3) * 5, bottom)),
    ].join(''),
  sea: (_, bottom) =>
    [
      faded(
        0.25,
        area('M80 0 L180 0 L70 600 L-60 600Z', '#ffffff'),
        area('M330 0 L400 0 L380 600 L270 600Z', '#ffffff'),
      ),
      area('M0 540 C140 500 260 560 420 530 C500 515 560 530 600 540 V600 H0Z', bottom),
      ...[60, 110, 520, 560].map(x => line(`M${x} 570 C${x - 30} 510 ${x + 34} 480 ${x} 410`, '#3f9a76', 13)),
      ...[0, 1, 2, 3].map(n => faded(0.6, dot(440 + (n % 2) * 40, 190 - n * 44, 16 - n * 3, '#ffffff'))),
    ].join(''),
  leaves: (top, bottom) =>
    [
      ...[0, 1, 2, 3, 4, 5].map(n =>
        oval(40 + n * 108, n % 2 ? 70 : 130, 96, 32, shade(n % 2 ? bottom : top, n % 2 ? 0.05 : 0.12), n * 37 - 60),
      ),
      faded(0.7, oval(70, 420, 100, 30, bottom, -50), oval(550, 400, 110, 32, bottom, 48)),
    ].join(''),
  sand: (_, bottom) =>
    [
      dot(480, 120, 62, '#fff1c0'),
      area('M0 440 C160 390 320 430 600 400 V600 H0Z', shade(bottom, -0.15)),
      area('M0 500 C220 460 400 520 600 480 V600 H0Z', bottom),
      area(
        'M70 440 V350 C70 320 105 320 105 350 V440Z M105 400 C130 400 132 385 132 370 V352 C132 335 152 335 152 352 V375 C152 410 132 420 105 420Z',
        '#6f9d63',
      ),
    ].join(''),
};

function flower(x: number, y: number, color: string): string {
  const petals = [0, 72, 144, 216, 288].map(turn => {
    const angle = (turn * Math.PI) / 180;
    return dot(Math.round(x + 10 * Math.cos(angle)), Math.round(y + 10 * Math.sin(angle)), 8, color);
  });
  return [...petals, dot(x, y, 7, '#f2b84b')].join('');
}
