import { correction, generate } from 'lean-qr';
import { type Html, html } from './html.ts';

/** The light modules that a QR code needs around it (ISO/IEC 18004). */
const QUIET = 4;

/** Returns a QR code as an image, dark on light in every color scheme. It is readable even if 15 % of it is damaged. */
export function qrCode(text: string, label: string): Html {
  const { M: level } = correction;
  const code = generate(text, { minCorrectionLevel: level, maxCorrectionLevel: level });
  const whole = code.size + 2 * QUIET;
  let path = '';
  for (let y = 0; y < code.size; y++) {
    for (let x = 0; x < code.size; x++) {
      const from = x;
      while (code.get(x, y)) x++;
      if (x > from) path += `M${from} ${y}h${x - from}v1h-${x - from}z`;
    }
  }
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="-${QUIET} -${QUIET} ${whole} ${whole}" shape-rendering="crispEdges"><path fill="#fff" d="M-${QUIET} -${QUIET}h${whole}v${whole}h-${whole}z"/><path fill="#000" d="${path}"/></svg>`;
}
