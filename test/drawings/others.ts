import { area, both, dot, eye, faded, INK, line, oval, shade, within } from './shapes.ts';

export interface Horse {
  readonly coat: string;
  readonly mane: string;
  readonly muzzle: string;
  readonly blaze?: boolean;
  readonly patches?: string;
}

const FACE =
  '<path d="M300 130 C374 130 404 186 396 268 C390 330 384 384 384 430 C384 492 344 516 300 516 C256 516 216 492 216 430 C216 384 210 330 204 268 C196 186 226 130 300 130Z"/>';

/** Draws the head of a horse from the front. */
export function horse({ coat, mane, muzzle, blaze = false, patches }: Horse): string {
  return [
    area('M170 640 C160 480 190 360 240 300 H360 C410 360 440 480 430 640Z', shade(coat, 0.1)),
    area('M196 200 C130 300 130 470 160 600 C200 560 220 420 230 300Z', mane),
    both(
      area('M226 190 C196 130 200 80 216 46 C250 74 276 110 280 150Z', coat),
      area('M230 166 C216 130 216 104 222 82 C242 104 256 126 260 146Z', '#e0a99a'),
    ),
    FACE.replace('/>', ` fill="${coat}"/>`),
    within(
      'face',
      FACE,
      patches === undefined ? '' : oval(220, 300, 60, 110, patches, 10) + oval(400, 210, 50, 70, patches),
      blaze
        ? area('M282 170 C300 160 318 170 316 220 C322 300 336 360 330 420 H270 C264 360 278 300 284 220Z', '#fbf6ee')
        : '',
      oval(300, 460, 98, 76, muzzle),
    ),
    area(
      'M300 100 C240 96 236 170 252 214 C266 250 276 230 282 204 C290 236 306 262 320 240 C336 214 352 150 300 100Z',
      mane,
    ),
    both(eye(226, 262, 23), line('M198 232 C212 220 232 220 244 230', shade(coat, 0.4), 7)),
    both(oval(262, 452, 13, 19, shade(muzzle, 0.5), 16)),
    line('M256 490 C280 506 320 506 344 490', shade(muzzle, 0.55), 6),
    both(line('M218 356 H384', '#b0573c', 0)),
    line('M212 350 C260 366 340 366 388 350 M216 346 L206 250 M384 346 L394 250', '#b0573c', 12),
    both(dot(214, 350, 13, '#f4c95d')),
  ].join('');
}

export interface Fish {
  readonly body: string;
  readonly fin: string;
  readonly bands?: string;
  readonly veil?: boolean;
}

/** Draws a fish from the side. */
export function fish({ body, fin, bands, veil = false }: Fish): string {
  const outline =
    '<path d="M96 310 C130 200 260 170 360 220 C400 240 420 270 430 300 C420 350 390 390 350 410 C250 450 130 420 96 310Z"/>';
  return [
    veil
      ? area(
          'M400 290 C470 150 560 170 570 130 C590 250 560 300 540 330 C580 400 590 480 560 520 C520 480 440 430 400 330Z',
          fin,
        )
      : area('M404 300 C460 220 510 200 546 200 C520 260 520 350 550 420 C500 410 450 370 404 316Z', fin),
    area('M200 210 C220 130 330 110 370 150 C350 170 350 200 350 226Z', fin),
    area('M230 418 C240 480 300 500 330 500 C330 460 330 440 326 412Z', fin),
    outline.replace('/>', ` fill="${body}"/>`),
    within(
      'fish',
      outline,
      faded(0.35, oval(250, 400, 190, 60, '#ffffff')),
      bands === undefined
        ? [0, 1, 2, 3, 4, 5, 6, 7]
            .map(n =>
              faded(0.4, line(`M${250 + (n % 4) * 40} ${n < 4 ? 262 : 322} c18 8 18 34 0 42`, shade(body, 0.3), 6)),
            )
            .join('')
        : line('M214 170 C236 250 236 350 210 450', INK, 66) +
            line('M214 170 C236 250 236 350 210 450', bands, 50) +
            line('M352 180 C366 250 366 350 346 430', INK, 54) +
            line('M352 180 C366 250 366 350 346 430', bands, 38),
    ),
    area('M262 320 C300 300 330 330 320 370 C290 372 262 356 262 320Z', shade(fin, 0.1)),
    dot(158, 286, 31, '#ffffff') + eye(156, 288, 23),
    line('M112 346 C126 358 144 358 156 346', shade(body, 0.5), 7),
    faded(0.5, oval(190, 342, 20, 12, '#f07c74')),
  ].join('');
}

/** Draws a turtle. */
export function turtle({ skin, shell }: { readonly skin: string; readonly shell: string }): string {
  const dome = '<path d="M130 440 C130 300 220 220 340 220 C460 220 530 320 530 440Z"/>';
  return [
    ...[190, 290, 400, 480].map(x => oval(x, 500, 36, 46, shade(skin, 0.12))),
    area('M520 440 L572 470 L520 470Z', skin),
    area(
      'M190 440 C120 440 100 400 110 350 C90 340 60 300 70 260 C80 210 150 190 186 236 C214 276 196 330 200 380Z',
      skin,
    ),
    dome.replace('/>', ` fill="${shell}"/>`),
    within(
      'dome',
      dome,
      [
        [230, 400],
        [330, 400],
        [430, 400],
        [280, 318],
        [385, 318],
        [335, 244],
        [500, 340],
        [180, 330],
      ]
        .map(
          ([x, y]) =>
            `<path d="M${x! - 42} ${y} L${x! - 22} ${y! - 38} H${x! + 22} L${x! + 42} ${y} L${x! + 22} ${y! + 38} H${x! - 22}Z" fill="${shade(shell, -0.2)}" stroke="${shade(shell, 0.25)}" stroke-width="7"/>`,
        )
        .join(''),
    ),
    `<rect x="112" y="432" width="434" height="40" rx="20" fill="${shade(shell, 0.3)}"/>`,
    eye(118, 262, 22),
    line('M78 314 C92 330 116 332 134 322', shade(skin, 0.5), 7),
    faded(0.5, oval(142, 306, 18, 11, '#f07c74')),
  ].join('');
}

export interface Lizard {
  readonly skin: string;
  readonly pale: string;
  readonly spots?: string;
  readonly beard?: boolean;
}

/** Draws a lizard that looks at the viewer. */
export function lizard({ skin, pale, spots, beard = false }: Lizard): string {
  const head =
    '<path d="M300 180 C400 180 470 250 470 320 C470 380 390 430 300 430 C210 430 130 380 130 320 C130 250 200 180 300 180Z"/>';
  return [
    line('M450 600 C560 590 560 500 510 460', skin, 42),
    area('M160 640 C150 520 210 420 300 420 C390 420 450 520 440 640Z', skin),
    oval(300, 600, 84, 150, pale),
    both(line('M190 520 C130 520 110 560 100 600', shade(skin, 0.12), 44)),
    beard
      ? both(
          ...[0, 1, 2, 3, 4].map(n =>
            area(
              `M${140 + n * 34} ${362 + n * 16} L${112 + n * 38} ${414 + n * 14} L${182 + n * 30} ${390 + n * 12}Z`,
              shade(skin, 0.25),
            ),
          ),
        )
      : '',
    head.replace('/>', ` fill="${skin}"/>`),
    within(
      'head',
      head,
      oval(300, 420, 150, 70, pale),
      spots === undefined
        ? ''
        : [
            [220, 220, 20],
            [300, 204, 16],
            [380, 224, 22],
            [260, 262, 13],
            [344, 262, 14],
            [170, 320, 18],
            [430, 320, 18],
            [300, 300, 11],
          ]
            .map(([x, y, r]) => dot(x!, y!, r!, spots))
            .join(''),
    ),
    spots === undefined
      ? ''
      : [
          [190, 520, 18],
          [410, 530, 18],
          [180, 590, 15],
          [424, 592, 14],
        ]
          .map(([x, y, r]) => dot(x!, y!, r!, spots))
          .join(''),
    beard
      ? [0, 1, 2, 3, 4]
          .map(n =>
            area(
              `M${216 + n * 34} ${196 - (n % 2) * 8} L${232 + n * 34} ${150 - (n === 2 ? 14 : 0)} L${250 + n * 34} ${196 - (n % 2) * 8}Z`,
              shade(skin, 0.2),
            ),
          )
          .join('')
      : '',
    both(oval(196, 276, 46, 44, shade(skin, 0.14)), eye(198, 278, 34, '#f0b93f', true)),
    both(dot(276, 340, 6, shade(skin, 0.5))),
    line('M186 370 C240 410 360 410 414 370', shade(skin, 0.55), 8),
    both(faded(0.5, oval(184, 348, 22, 13, '#f07c74'))),
  ].join('');
}

/** Draws a snake in its coils. */
export function snake({ skin, marks }: { readonly skin: string; readonly marks: string }): string {
  const coil = (y: number, rx: number) =>
    oval(310, y, rx, 62, skin) +
    [-2, -1, 0, 1, 2].map(n => oval(310 + n * rx * 0.36, y + 16 - Math.abs(n) * 8, 26, 18, marks)).join('') +
    line(
      `M${310 - rx * 0.9} ${y + 30} C${310 - rx * 0.4} ${y + 66} ${310 + rx * 0.4} ${y + 66} ${310 + rx * 0.9} ${y + 30}`,
      shade(skin, 0.25),
      6,
    );
  return [
    coil(510, 230),
    coil(430, 180),
    line('M300 410 C240 360 230 300 270 236', skin, 82),
    ...[0, 1, 2].map(n => oval(262 - (n === 1 ? 6 : 0), 376 - n * 46, 22, 15, marks, -20)),
    line('M300 262 V312 L286 334 M300 312 L314 334', '#d9545c', 8),
    oval(300, 200, 104, 80, skin),
    both(eye(244, 184, 25, '#f0b93f', true)),
    both(dot(284, 226, 5, shade(skin, 0.5))),
    line('M236 244 C270 270 330 270 364 244', shade(skin, 0.5), 7),
    both(faded(0.5, oval(228, 230, 18, 11, '#f07c74'))),
  ].join('');
}

/** Draws a crab. */
export function crab(shell: string): string {
  return [
    both(
      ...[0, 1, 2].map(n =>
        line(
          `M190 ${430 + n * 26} C140 ${430 + n * 30} 110 ${470 + n * 30} ${92 + n * 18} ${520 + n * 24}`,
          shade(shell, 0.15),
          20,
        ),
      ),
    ),
    both(
      line('M180 380 C120 360 100 310 120 260', shell, 34),
      area(
        'M150 280 C60 270 40 170 100 120 C104 170 130 180 140 190 C150 160 170 150 190 140 C210 210 200 260 150 280Z',
        shell,
      ),
    ),
    area(
      'M120 400 C120 290 210 250 300 250 C390 250 480 290 480 400 C480 490 400 520 300 520 C200 520 120 490 120 400Z',
      shell,
    ),
    faded(0.3, oval(250, 300, 80, 24, '#ffffff', -10)),
    both(line('M250 270 V200', shell, 18), dot(250, 186, 34, '#ffffff'), eye(252, 188, 24)),
    line('M246 410 C270 440 330 440 354 410', INK, 9),
    both(faded(0.5, oval(208, 400, 26, 15, '#ffd0c0'))),
  ].join('');
}

export interface Farm {
  readonly coat: string;
  readonly pale: string;
  readonly mark?: string;
}

/** Draws a pig. */
export function pig({ coat, pale, mark }: Farm): string {
  const head = '<ellipse cx="300" cy="310" rx="166" ry="150"/>';
  return [
    oval(300, 600, 210, 190, coat),
    both(
      area('M190 222 C130 190 116 120 132 84 C190 96 240 130 256 176Z', shade(coat, 0.12)),
      area('M190 196 C160 176 150 136 154 116 C190 128 214 148 226 172Z', '#e88f92'),
    ),
    head.replace('/>', ` fill="${coat}"/>`),
    within('head', head, mark === undefined ? '' : oval(400, 230, 80, 74, mark, 20) + oval(190, 400, 50, 40, mark)),
    mark === undefined ? '' : oval(180, 560, 60, 50, mark),
    both(eye(226, 276, 22)),
    oval(300, 356, 80, 60, pale),
    both(oval(272, 356, 13, 20, shade(pale, 0.45))),
    line('M252 432 C280 450 320 450 348 432', shade(coat, 0.5), 7),
    both(faded(0.5, oval(196, 350, 28, 17, '#ec7d84'))),
  ].join('');
}

/** Draws a goat. */
export function goat({ coat, pale, mark = coat }: Farm): string {
  return [
    area('M150 640 C150 500 210 420 300 420 C390 420 450 500 450 640Z', coat),
    both(
      line('M252 180 C230 120 210 90 176 76', '#a08c78', 34),
      line('M252 180 C236 136 216 108 190 90', shade('#a08c78', -0.2), 8),
    ),
    both(
      area('M220 236 C160 220 110 240 84 290 C130 320 190 306 230 280Z', shade(mark, 0.1)),
      area('M206 252 C166 246 132 258 112 284 C146 298 186 290 216 274Z', '#e6ab9f'),
    ),
    area(
      'M300 150 C384 150 410 216 398 290 C392 350 380 400 360 430 C340 456 260 456 240 430 C220 400 208 350 202 290 C190 216 216 150 300 150Z',
      coat,
    ),
    area('M284 160 H316 C322 240 340 320 352 400 C330 450 270 450 248 400 C260 320 278 240 284 160Z', pale),
    area('M262 440 C268 510 288 540 300 556 C312 540 332 510 338 440Z', pale),
    both(
      oval(232, 276, 32, 28, '#fff7df'),
      oval(233, 277, 23, 22, '#d9a441'),
      '<rect x="214" y="271" width="38" height="13" rx="6" fill="#2f2622"/>',
      dot(242, 268, 6, '#ffffff'),
    ),
    area('M272 386 C284 376 316 376 328 386 C324 402 310 408 300 410 C290 408 276 402 272 386Z', '#c98480'),
    line('M300 410 V424 C290 436 272 436 264 428 M300 424 C310 436 328 436 336 428', INK, 6),
    both(line('M206 470 C240 500 270 506 300 506', '#b0573c', 14)),
    dot(300, 516, 20, '#f4c95d') + line('M300 516 V530', INK, 5),
  ].join('');
}

/** Draws a sheep. */
export function sheep({ coat, pale }: Farm): string {
  const wool = (cx: number, cy: number, rx: number, ry: number, n: number) =>
    Array.from({ length: n }, (_, i) => (i * 2 * Math.PI) / n)
      .map((angle, i) =>
        dot(
          Math.round(cx + rx * Math.cos(angle)),
          Math.round(cy + ry * Math.sin(angle)),
          56,
          shade(coat, i % 2 ? 0.05 : 0),
        ),
      )
      .join('');
  return [
    wool(300, 580, 170, 130, 12) + oval(300, 580, 190, 150, coat),
    both(oval(160, 290, 66, 28, shade(pale, 0.1), 16)),
    area(
      'M300 170 C390 170 410 250 396 330 C384 410 350 450 300 450 C250 450 216 410 204 330 C190 250 210 170 300 170Z',
      pale,
    ),
    wool(300, 186, 84, 40, 8) + oval(300, 186, 90, 46, coat),
    both(dot(246, 300, 30, '#ffffff'), eye(248, 302, 22)),
    area('M278 374 C288 366 312 366 322 374 C320 388 308 394 300 396 C292 394 280 388 278 374Z', shade(pale, 0.5)),
    line('M300 396 V410 C292 422 274 422 268 414 M300 410 C308 422 326 422 332 414', shade(pale, 0.6), 6),
    both(faded(0.5, oval(226, 366, 22, 13, '#f09a94'))),
  ].join('');
}

/** Draws a cow. */
export function cow({ coat, pale, mark = INK }: Farm): string {
  const head =
    '<path d="M300 150 C400 150 424 220 412 300 C404 372 392 440 300 446 C208 440 196 372 188 300 C176 220 200 150 300 150Z"/>';
  return [
    area('M130 640 C130 500 200 420 300 420 C400 420 470 500 470 640Z', coat),
    oval(190, 560, 60, 70, mark) + oval(430, 600, 60, 60, mark),
    both(line('M216 176 C176 160 160 120 166 84', '#e9d9bd', 30)),
    both(oval(134, 250, 72, 36, mark, -14), oval(142, 252, 44, 19, '#e6ab9f', -14)),
    head.replace('/>', ` fill="${coat}"/>`),
    within(
      'head',
      head,
      area('M330 140 C440 150 440 260 400 330 C350 330 330 240 330 140Z', mark),
      area('M270 140 C200 150 170 200 190 270 C240 260 268 210 270 140Z', mark),
    ),
    both(dot(236, 268, 30, '#ffffff'), eye(238, 270, 22)),
    oval(300, 400, 114, 74, pale),
    both(oval(258, 386, 13, 18, shade(pale, 0.45))),
    line('M250 430 C280 450 320 450 350 430', shade(pale, 0.5), 7),
    area('M268 168 C280 130 320 130 332 168 C320 200 314 180 300 210 C288 180 280 200 268 168Z', shade(coat, 0.06)),
    line('M200 470 C250 510 350 510 400 470', '#5b7fa8', 18) +
      dot(300, 516, 26, '#f4c95d') +
      line('M300 516 V534', INK, 6),
  ].join('');
}

/** Draws a hen. */
export function hen({ coat, pale, mark = shade(coat, 0.2) }: Farm): string {
  return [
    both(''),
    line('M280 540 V590 M360 540 V590', '#e0a03c', 14),
    area(
      'M440 300 C520 230 570 240 580 200 C600 290 580 330 560 350 C580 370 570 420 530 440 C500 460 460 440 440 420Z',
      mark,
    ),
    area('M220 210 C260 300 380 290 460 300 C520 380 470 550 320 550 C190 550 140 450 160 330Z', coat),
    area('M300 360 C380 330 440 370 440 430 C400 490 320 480 300 440 C280 410 280 380 300 360Z', mark),
    ...[0, 1, 2].map(n => line(`M${330 + n * 30} ${404 + n * 6} c14 14 14 30 0 44`, shade(mark, 0.2), 6)),
    faded(0.6, oval(220, 470, 60, 50, pale)),
    area('M170 130 C160 90 190 70 206 96 C210 60 250 60 250 96 C274 74 300 96 282 136Z', '#d8433f'),
    dot(222, 196, 88, coat),
    area('M150 190 L92 216 L150 240Z', '#f0ae3d') + line('M100 216 H146', shade('#f0ae3d', 0.25), 4),
    oval(168, 268, 19, 32, '#d8433f'),
    eye(206, 184, 22),
    faded(0.5, oval(226, 230, 22, 14, '#f09a94')),
  ].join('');
}
