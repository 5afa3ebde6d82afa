import { PREFIX } from '../../views/urls.ts';
import type { Visit } from '../page.ts';

/**
 * Replaces the addresses of the documentation by the public addresses of this service.
 * @param write formats an address for the text
 */
export function withRealAddresses(
  text: string,
  { site, request }: Pick<Visit, 'site' | 'request'>,
  write = (address: string) => address,
): string {
  const urlOf = (name: 'production' | 'staging' | 'messages') => site.urlOf(name, request.tls);
  const production = urlOf('production') ?? urlOf('staging')!;
  const staging = urlOf('staging') ?? production;
  return (
    text
      .replaceAll('http://localhost:8080', () => write(production))
      .replaceAll('http://localhost:8081', () => write(staging))
      // Without a separate address, messages use the addresses of the deployments.
      .replaceAll('http://localhost:8082', () => write(urlOf('messages') ?? staging + PREFIX))
  );
}
