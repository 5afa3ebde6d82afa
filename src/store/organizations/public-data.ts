import type { Organization } from '../../model/organization.ts';
import { photoPath } from '../../model/photo.ts';

/** Returns an address in one line. */
export function addressText({ line1, line2, city, state, postalCode, country }: NonNullable<Organization['address']>) {
  const region = [state, postalCode].filter(part => part !== undefined).join(' ');
  return [line1, line2, city, region, country].filter(part => part !== undefined && part !== '').join(', ');
}

/** Returns an organization in the vocabulary of schema.org. */
export function shelterData(organization: Organization, publicUrl: string): Readonly<Record<string, unknown>> {
  const { id, name, address, location, phone, email, website, mission, socialMedia = [], photos = [] } = organization;
  const profiles = [website, ...socialMedia].filter(url => url !== undefined);
  return {
    '@type': 'AnimalShelter',
    name,
    url: `${publicUrl}/organizations/${id}`,
    description: mission,
    telephone: phone,
    email,
    ...(address && {
      address: {
        '@type': 'PostalAddress',
        streetAddress: [address.line1, address.line2].filter(Boolean).join(', ') || undefined,
        addressLocality: address.city,
        addressRegion: address.state,
        postalCode: address.postalCode,
        addressCountry: address.country,
      },
    }),
    ...(location && { geo: { '@type': 'GeoCoordinates', ...location } }),
    ...(photos.length > 0 && { image: photos.map(photo => publicUrl + photoPath(photo.id, 1280)) }),
    ...(profiles.length > 0 && { sameAs: profiles }),
  };
}
