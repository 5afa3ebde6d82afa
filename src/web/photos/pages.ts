import { IMMUTABLE, type PageRoute } from '../../lib/http/server/pages.ts';
import { anyOrigin } from '../../lib/http/server/responses.ts';
import { photoSizes } from '../../model/photo.ts';
import type { PhotoFiles } from '../../model/photo-files/photo-files.ts';

/** Returns the page that serves the sizes of photos. They never change, so any cache may store them. */
export function photoPages(files: Pick<PhotoFiles, 'find'>): readonly PageRoute[] {
  return [
    {
      method: 'GET',
      path: '/photos/{photoId}/{file}',
      async handle({ parameters: { photoId = '', file = '' } }) {
        const size = photoSizes.find(one => `${one}.jpg` === file);
        if (size === undefined || !/^[0-9a-f]{64}$/.test(photoId)) return undefined;
        const found = await files.find(photoId, size);
        if (found === undefined) return undefined;
        return {
          status: 200,
          contentType: 'image/jpeg',
          bytes: '',
          ...found,
          // The sizes of a photo of an earlier release may be created again.
          etag: `"${photoId}-${size}-${found.length}"`,
          cacheControl: IMMUTABLE,
          headers: [
            ...anyOrigin,
            ...['Cross-Origin-Resource-Policy', 'cross-origin'],
            ...['Content-Security-Policy', "default-src 'none'; sandbox"],
          ],
        };
      },
    },
  ];
}
