import { area, both, dot, eye, faded, INK, line, oval, shade, within } from './shapes.ts';

export interface Rabbit {
  readonly coat: string;
  readonly pale: string;
  readonly ears: 'up' | 'lop';
  readonly mark?: string;
  readonly iris?: string;
}

/** Draws a rabbit. @returns SVG */
export function rabbit({ coat, pale, ears, mark, iris }: Rabbit): string {
  const dark = shade(coat, 0.14);
  const up = both(oval(238, 150, 46, 142, mark ?? coat, -9), oval(238, 160, 24, 112, '#efb3ac', -9));
  const lop = both(
    area('M236 208 C150 176 92 250 104 372 C108 430 170 440 184 384 C196 330 214 270 252 236Z', mark ?? dark),
  );
  const head = '<ellipse cx="300" cy="322" rx="138" ry="128"/>';
  return [
    oval(300, 590, 196, 190, coat),
    oval(300, 600, 110, 150, pale),
    ears === 'up' ? up : '',
    head.replace('/>', ` fill="${coat}"/>`),
    within(
      'head',
      head,
      mark === undefined
        ? faded(0.6, oval(300, 216, 60, 40, shade(coat, -0.2)))
        : area('M290 180 C310 260 260 340 150 350 V180Z', mark) + area('M318 180 C310 260 352 340 460 350 V180Z', mark),
    ),
    ears === 'lop' ? lop : '',
    both(oval(262, 376, 50, 40, pale)),
    both(eye(224, 306, 25, iris)),
    both(faded(0.5, oval(196, 364, 26, 16, '#f09a94'))),
    area('M280 346 C290 338 310 338 320 346 C318 358 308 364 300 366 C292 364 282 358 280 346Z', '#e08886'),
    line('M300 366 V388 M300 388 C290 402 270 400 262 390 M300 388 C310 402 330 400 338 390', INK, 5),
    '<rect x="288" y="396" width="24" height="26" rx="5" fill="#ffffff"/>',
    line('M300 398 V420', '#d8d0c8', 3),
    both(oval(206, 560, 46, 30, pale)),
    area('M282 520 C270 560 290 590 300 600 C312 588 330 560 318 520Z', '#ee8c3a') +
      line('M300 520 C286 494 280 490 270 486 M300 520 V478 M300 520 C314 494 320 490 330 486', '#5fa355', 9),
  ].join('');
}

export interface Rodent {
  readonly coat: string;
  readonly pale: string;
  readonly kind: 'hamster' | 'guinea pig' | 'rat' | 'ferret' | 'chinchilla';
  readonly mark?: string;
}

const rodents = {
  hamster: { ear: [176, 208, 46, 46], head: [300, 330, 166, 140], cheeks: 66 },
  'guinea pig': { ear: [166, 262, 52, 34], head: [300, 320, 150, 150], cheeks: 56 },
  rat: { ear: [180, 200, 64, 64], head: [300, 330, 128, 130], cheeks: 48 },
  ferret: { ear: [190, 212, 40, 38], head: [300, 310, 140, 116], cheeks: 50 },
  chinchilla: { ear: [178, 176, 70, 82], head: [300, 330, 150, 130], cheeks: 54 },
} as const;

/** Draws a small furry animal. */
export function rodent({ coat, pale, kind, mark }: Rodent): string {
  const { ear, head, cheeks } = rodents[kind];
  const [ex, ey, erx, ery] = ear;
  const [hx, hy, hrx, hry] = head;
  const outline = `<ellipse cx="${hx}" cy="${hy}" rx="${hrx}" ry="${hry}"/>`;
  return [
    kind === 'rat' ? line('M440 600 C560 600 570 520 520 470', '#e2a79d', 20) : '',
    kind === 'chinchilla' ? oval(500, 540, 70, 90, shade(coat, 0.15), 20) : '',
    oval(300, 590, 190, 190, coat),
    oval(300, 600, 118, 150, pale),
    both(oval(ex, ey, erx, ery, shade(coat, 0.12)), oval(ex + 4, ey + 4, erx * 0.6, ery * 0.6, '#eeb2a8')),
    outline.replace('/>', ` fill="${coat}"/>`),
    within('head', outline, headMark(kind, pale, mark)),
    both(oval(250, 382, cheeks, cheeks * 0.82, pale)),
    kind === 'ferret' ? both(eye(232, 306, 24, '#8a5a33')) : both(eye(232, 306, kind === 'rat' ? 21 : 25)),
    both(faded(0.5, oval(190, 372, 24, 15, '#f09a94'))),
    area('M282 344 C290 336 310 336 318 344 C316 356 308 361 300 363 C292 361 284 356 282 344Z', '#d97f80'),
    line('M300 363 V380 C294 394 274 394 266 384 M300 380 C306 394 326 394 334 384', INK, 5),
    both(
      ...[0, 1].map(n =>
        faded(
          0.6,
          line(
            `M230 ${380 + n * 14} C196 ${376 + n * 18} 170 ${380 + n * 22} 138 ${392 + n * 22}`,
            shade(coat, 0.4),
            3,
          ),
        ),
      ),
    ),
    both(oval(246, 520, 32, 22, '#eeb2a8', -24)),
    area('M300 488 C324 500 328 534 300 552 C272 534 276 500 300 488Z', '#8a6a44') +
      line('M300 496 V544', '#5f4629', 4),
  ].join('');
}

function headMark(kind: Rodent['kind'], pale: string, mark: string | undefined): string {
  if (kind === 'ferret')
    return area(
      'M150 282 C200 236 270 262 300 300 C330 262 400 236 450 282 C440 340 380 340 300 330 C220 340 160 340 150 282Z',
      mark ?? INK,
    );
  if (mark === undefined) return faded(0.5, area('M300 190 C326 240 320 280 300 300 C280 280 274 240 300 190Z', pale));
  return (
    area('M318 150 C330 250 340 330 470 340 V150Z', mark) +
    area('M286 170 H318 C314 250 312 300 300 340 C290 300 288 250 286 170Z', pale)
  );
}

/** Draws a bird on a branch. */
export function bird(look: Bird): string {
  const { body, belly, head, wing, beak, crest, cheek, face } = look;
  return [
    line('M30 520 C200 500 400 530 580 500', '#8b6544', 26),
    oval(110, 486, 40, 16, '#7fae62', -24) + oval(520, 472, 44, 16, '#7fae62', 20),
    area('M232 470 L196 640 L300 640 L330 480Z', shade(wing, 0.12)),
    area(
      'M300 150 C420 150 460 270 440 390 C424 480 360 520 300 520 C230 520 170 470 166 380 C160 250 200 150 300 150Z',
      body,
    ),
    area(
      'M306 300 C390 300 410 380 392 440 C376 496 340 516 306 516 C256 516 230 470 232 410 C234 350 256 300 306 300Z',
      belly,
    ),
    area('M186 300 C130 380 150 490 216 540 C262 470 268 370 232 300Z', wing),
    ...[0, 1, 2].map(n =>
      line(
        `M${184 + n * 16} ${372 + n * 34} C${200 + n * 10} ${390 + n * 32} ${218 + n * 8} ${392 + n * 30} ${236 + n * 4} ${384 + n * 28}`,
        shade(wing, 0.22),
        7,
      ),
    ),
    crest === undefined
      ? ''
      : area(
          'M268 150 C232 96 226 60 250 24 C262 58 276 70 290 84 C288 60 296 44 312 30 C318 70 330 110 340 146Z',
          crest,
        ),
    dot(312, 222, 112, head),
    face === undefined ? '' : oval(346, 236, 62, 60, face),
    look.bars
      ? [0, 1, 2, 3]
          .map(n =>
            line(
              `M${232 + n * 4} ${168 + n * 26} C${252} ${160 + n * 26} ${266} ${160 + n * 26} ${282} ${166 + n * 24}`,
              shade(wing, 0.35),
              7,
            ),
          )
          .join('')
      : '',
    cheek === undefined ? '' : dot(282, 262, 28, cheek),
    area('M392 214 C440 214 456 250 436 290 C424 270 400 262 384 260Z', beak) +
      line('M394 250 C410 252 424 258 434 270', shade(beak, 0.3), 4),
    eye(340, 206, 21),
    ...[270, 330].map(x =>
      line(`M${x} 512 V528 M${x - 14} 532 C${x - 8} 520 ${x + 8} 520 ${x + 14} 532`, '#d9a05b', 10),
    ),
  ].join('');
}

export interface Bird {
  readonly body: string;
  readonly belly: string;
  readonly head: string;
  readonly wing: string;
  readonly beak: string;
  readonly crest?: string;
  readonly cheek?: string;
  readonly face?: string;
  readonly bars?: boolean;
}
