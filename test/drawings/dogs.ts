import { area, both, dot, eye, faded, INK, isDark, line, oval, shade, within } from './shapes.ts';

export interface Dog {
  readonly coat: string;
  /** The color of chest and muzzle. */
  readonly pale: string;
  readonly ears: 'floppy' | 'pointed' | 'long' | 'half';
  readonly ear?: string;
  readonly face?: 'mask' | 'blaze' | 'patch' | 'points' | 'spots' | 'brindle';
  readonly mark?: string;
  readonly hair?: 'curly' | 'shaggy';
  readonly collar: string;
  readonly tongue?: boolean;
  readonly eyes?: string;
}

const HEAD =
  '<path d="M300 128 C400 128 452 200 450 285 C449 345 430 425 300 432 C170 425 151 345 150 285 C148 200 200 128 300 128Z"/>';
const ears = {
  floppy: 'M196 160 C120 150 82 262 112 358 C126 400 176 396 190 340 C202 292 214 224 226 178Z',
  long: 'M192 168 C104 180 66 330 88 446 C98 486 158 484 178 430 C200 360 206 250 226 190Z',
  pointed: 'M172 250 C140 176 132 106 150 72 C158 60 174 64 184 74 C222 110 250 140 266 172Z',
  half: 'M170 236 C146 180 146 132 166 106 C180 96 196 104 206 122 C232 140 248 152 258 170 C226 196 190 208 170 236Z',
} as const;

/** Draws a dog that looks at the viewer. */
export function dog(look: Dog): string {
  const { coat, pale, ears: kind, ear = shade(coat, 0.22), hair, collar } = look;
  const inner = faded(0.55, area(ears[kind], '#e2a79a'));
  const standing = kind === 'pointed' || kind === 'half';
  const earPair = both(
    area(ears[kind], ear),
    standing ? `<g transform="translate(62 78) scale(.72)">${inner}</g>` : '',
  );
  return [
    area('M100 640 C96 500 170 410 300 410 C430 410 504 500 500 640Z', coat),
    area('M206 640 C206 520 240 440 300 440 C360 440 394 520 394 640Z', pale),
    ...(look.face === 'spots'
      ? [dot(150, 560, 30, look.mark!), dot(452, 530, 24, look.mark!), dot(420, 590, 18, look.mark!)]
      : []),
    ...(hair === 'shaggy'
      ? [area('M190 470 L215 540 L240 492 L268 560 L300 500 L332 560 L360 492 L385 540 L410 470Z', pale)]
      : []),
    line('M196 446 C240 486 360 486 404 446', collar, 26),
    dot(300, 490, 19, '#f4c95d') + dot(300, 490, 9, shade('#f4c95d', 0.2)),
    standing ? earPair : '',
    HEAD.replace('/>', ` fill="${coat}"/>`),
    within('head', HEAD, faceOf(look)),
    ...(hair === 'curly' ? curls(coat) : []),
    standing ? '' : earPair,
    muzzle(look),
    both(eye(238, 262, 24, look.eyes)),
    both(line('M216 218 C226 208 246 206 258 212', shade(coat, isDark(coat) ? -0.35 : 0.42), 7)),
    ...(hair === 'shaggy'
      ? [
          area(
            'M214 150 L226 214 L254 168 L274 226 L300 172 L330 222 L346 168 L372 212 L388 150 C360 112 240 112 214 150Z',
            shade(coat, -0.14),
          ),
        ]
      : []),
  ].join('');
}

function muzzle({ pale, tongue = false }: Dog): string {
  return [
    tongue
      ? area('M272 392 C272 446 286 468 302 468 C320 468 330 444 328 392Z', '#ee8b8f') +
        line('M301 400 V446', '#d46a72', 4)
      : '',
    oval(258, 356, 62, 52, pale),
    oval(342, 356, 62, 52, pale),
    oval(300, 330, 58, 50, pale),
    line('M300 338 V372 C292 396 252 398 240 378 M300 372 C308 396 348 398 360 378', INK, 7),
    area('M258 300 C258 280 342 280 342 300 C342 326 314 344 300 344 C286 344 258 326 258 300Z', INK),
    faded(0.5, oval(284, 297, 13, 6, '#ffffff')),
    ...[236, 252, 348, 364].map((x, index) => faded(0.35, dot(x, 362 + (index % 2) * 10, 3.4, INK))),
  ].join('');
}

/** The markings of a face, which end at the outline of the head. */
function faceOf({ face, mark = '', pale, coat }: Dog): string {
  switch (face) {
    case 'mask':
      return area(
        'M300 250 C340 190 440 180 470 290 C470 420 380 450 300 450 C220 450 130 420 130 290 C160 180 260 190 300 250Z',
        pale,
      );
    case 'blaze':
      return area(
        'M282 110 H318 C316 200 326 250 372 330 C390 400 340 450 300 450 C260 450 210 400 228 330 C274 250 284 200 282 110Z',
        pale,
      );
    case 'patch':
      return both('') + oval(372, 256, 76, 84, mark, 12);
    case 'points':
      return both(dot(246, 214, 17, mark), oval(186, 360, 52, 60, mark));
    case 'spots':
      return [
        [196, 210, 22],
        [380, 190, 27],
        [410, 300, 18],
        [200, 330, 15],
        [300, 170, 15],
      ]
        .map(([x, y, r]) => dot(x!, y!, r!, mark))
        .join('');
    case 'brindle':
      return [0, 1, 2, 3, 4, 5]
        .map(n =>
          both(
            line(
              `M${158 + n * 22} ${318 - n * 34} C${178 + n * 22} ${290 - n * 30} ${180 + n * 20} ${270 - n * 24} ${206 + n * 16} ${262 - n * 22}`,
              shade(coat, 0.38),
              8,
            ),
          ),
        )
        .join('');
    default:
      return faded(0.35, area('M300 128 C330 180 330 230 300 262 C270 230 270 180 300 128Z', pale));
  }
}

function curls(coat: string): string[] {
  const places = [
    [180, 236],
    [418, 236],
    [206, 176],
    [242, 146],
    [284, 130],
    [326, 132],
    [366, 150],
    [398, 182],
    [262, 176],
    [306, 168],
    [346, 178],
  ];
  return places.map(([x, y], index) => dot(x!, y!, 36, shade(coat, index % 2 ? 0.07 : -0.07)));
}
