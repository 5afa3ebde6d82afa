import { area, both, dot, eye, faded, INK, line, oval, shade, within } from './shapes.ts';

export interface Cat {
  readonly coat: string;
  readonly pale: string;
  readonly iris: string;
  readonly pattern?: 'tabby' | 'tuxedo' | 'calico' | 'points' | 'tortoiseshell';
  readonly mark?: string;
  readonly second?: string;
  readonly long?: boolean;
  readonly collar?: string;
  readonly nose?: string;
}

const HEAD =
  '<path d="M300 150 C372 148 446 196 452 290 C458 322 474 342 486 356 C458 362 448 376 440 384 C410 420 352 434 300 434 C248 434 190 420 160 384 C152 376 142 362 114 356 C126 342 142 322 148 290 C154 196 228 148 300 150Z"/>';
const EAR = 'M158 262 C132 180 130 110 142 76 C148 62 162 62 172 70 C214 104 250 136 268 164Z';

/** Draws a cat that looks at the viewer. */
export function cat(look: Cat): string {
  const { coat, pale, iris, pattern, mark = shade(coat, 0.35), long = false, collar } = look;
  const ear = pattern === 'points' ? mark : coat;
  const chest = pattern === 'tuxedo' || long ? pale : shade(coat, -0.12);
  return [
    line('M470 600 C560 560 566 470 520 430', pattern === 'points' ? mark : shade(coat, 0.08), 46),
    area('M120 640 C120 500 190 408 300 408 C410 408 480 500 480 640Z', coat),
    ...(pattern === 'tabby'
      ? [0, 1, 2].map(n =>
          both(
            line(
              `M${132 + n * 6} ${600 - n * 52} C${160 + n * 8} ${590 - n * 52} ${178 + n * 6} ${584 - n * 50} ${196 + n * 6} ${574 - n * 48}`,
              mark,
              15,
            ),
          ),
        )
      : []),
    ...(pattern === 'calico' ? [oval(160, 560, 52, 66, mark, 20), oval(440, 590, 50, 60, look.second!, -20)] : []),
    long
      ? area(
          'M170 430 L196 520 L222 478 L250 560 L276 500 L300 580 L324 500 L350 560 L378 478 L404 520 L430 430Z',
          chest,
        )
      : oval(300, 580, 84, 130, chest),
    collar === undefined
      ? ''
      : line('M206 440 C250 470 350 470 394 440', collar, 20) +
        dot(300, 474, 15, '#f4c95d') +
        line('M300 474 V484', INK, 4),
    both(area(EAR, ear), `<g transform="translate(64 78) scale(.68)">${area(EAR, '#eeb0a6')}</g>`),
    HEAD.replace('/>', ` fill="${coat}"/>`),
    within('head', HEAD, markings(look, mark)),
    long ? both(area('M132 330 L96 344 L134 366 L106 394 L152 396 L146 424 L200 412Z', coat)) : '',
    both(oval(264, 362, 50, 38, pattern === 'points' ? shade(mark, -0.25) : pale)),
    both(oval(226, 282, 33, 34, '#ffffff'), eye(228, 283, 29, iris, true)),
    area(
      'M278 330 C288 322 312 322 322 330 C322 344 308 354 300 356 C292 354 278 344 278 330Z',
      look.nose ?? '#e58f8a',
    ),
    line('M300 356 V370 C292 388 268 388 258 376 M300 370 C308 388 332 388 342 376', INK, 6),
    both(
      ...[0, 1, 2].map(n =>
        faded(
          0.75,
          line(`M236 ${356 + n * 12} C190 ${344 + n * 16} 150 ${342 + n * 22} 108 ${346 + n * 26}`, '#ffffff', 4),
        ),
      ),
    ),
  ].join('');
}

function markings({ pattern, pale, coat, second = '' }: Cat, mark: string): string {
  switch (pattern) {
    case 'tabby':
      return [
        line('M300 156 V214 M266 160 C268 190 272 204 278 218 M334 160 C332 190 328 204 322 218', mark, 14),
        both(line('M128 300 C160 304 176 306 194 304 M124 342 C156 334 176 332 196 330', mark, 12)),
      ].join('');
    case 'tuxedo':
      return area(
        'M300 196 C316 260 350 300 400 352 C390 430 340 450 300 450 C260 450 210 430 200 352 C250 300 284 260 300 196Z',
        pale,
      );
    case 'calico':
      return (
        area('M300 140 C230 140 120 170 120 300 C180 330 270 300 300 220Z', mark) +
        area('M330 140 C420 150 480 220 470 320 C420 320 350 280 330 140Z', second)
      );
    case 'points':
      return faded(0.92, oval(300, 350, 104, 100, mark)) + faded(0.35, oval(300, 320, 140, 130, mark));
    case 'tortoiseshell':
      return (
        [
          [200, 200, 46],
          [390, 220, 56],
          [330, 190, 28],
          [180, 330, 34],
          [420, 350, 30],
        ]
          .map(([x, y, r]) => oval(x!, y!, r!, r! * 0.8, mark, x!))
          .join('') + oval(262, 400, 60, 40, second)
      );
    default:
      return faded(0.5, oval(300, 180, 90, 40, shade(coat, -0.12)));
  }
}
