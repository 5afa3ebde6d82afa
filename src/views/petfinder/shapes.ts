import { escapeHtml } from '../../lib/html/html.ts';
import { capitalized } from '../../lib/text.ts';
import { type Organization, weekdays } from '../../model/organization.ts';
import type { FullPet, PetStatus } from '../../model/pet.ts';
import type { Photo } from '../../model/photo.ts';
import type { YesNoUnknown } from '../../model/profile.ts';
import { typeLink } from './types.ts';

/** The ids of animals begin here: clients take small numbers for ids that do not exist. */
const FIRST_ID = 10_000_000;

/** Returns the id of a pet; `undefined` for a text that is not the id of an animal of the view. */
export function petIdOf(text: string): number | undefined {
  const shown = /^\d{8,16}$/.test(text) ? Number(text) : 0;
  return shown > FIRST_ID && Number.isSafeInteger(shown) ? shown - FIRST_ID : undefined;
}

/** Returns the id of an organization; `undefined` for a text that is not one of the view. */
export function organizationIdOf(text: string): number | undefined {
  const [, digits] = /^ps(\d{1,15})$/i.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

function shownOrganizationId(id: number): string {
  return `PS${id}`;
}

/** The statuses of the view. Animals that are pending have none. */
export const statuses: Readonly<Record<string, PetStatus>> = { adoptable: 'available', adopted: 'sold' };

/** What the animal of a response depends on besides the pet. */
interface AnimalContext {
  readonly type: { readonly name: string; readonly slug: string };
  /** The name of the category of the pet, if it is not that of the type. */
  readonly species: string;
  readonly organization: Organization | undefined;
  readonly publicUrl: string;
  /** The start of links. */
  readonly base: string;
}

/** Returns an animal as Petfinder's API shows it. Pending animals are not shown. */
export function animalOf(pet: FullPet, { type, species, organization, publicUrl, base }: AnimalContext) {
  const { breeds = {}, colors = {}, goodWith = {}, traits = {}, photos = [] } = pet;
  const id = FIRST_ID + pet.id;
  const status = Object.keys(statuses).find(name => statuses[name] === pet.status);
  return {
    id,
    organization_id: organization === undefined ? null : shownOrganizationId(organization.id),
    url: `${publicUrl}/animals/${pet.id}`,
    type: type.name,
    species,
    breeds: { primary: null, secondary: null, mixed: false, unknown: false, ...breeds },
    colors: { primary: null, secondary: null, tertiary: null, ...colors },
    age: named(pet.age),
    gender: named(pet.sex ?? 'unknown'),
    size: pet.size === 'xlarge' ? 'Extra Large' : named(pet.size),
    coat: named(pet.coat),
    attributes: {
      spayed_neutered: traits.spayedNeutered === 'yes',
      house_trained: traits.houseTrained === 'yes',
      declawed: answered(traits.declawed),
      special_needs: traits.specialNeeds === 'yes',
      shots_current: traits.vaccinated === 'yes',
    },
    environment: {
      children: answered(goodWith.children),
      dogs: answered(goodWith.dogs),
      cats: answered(goodWith.cats),
    },
    tags: pet.tags ?? [],
    name: pet.name,
    description: pet.description === undefined ? null : summaryOf(pet.description),
    organization_animal_id: pet.externalId ?? null,
    photos: photos.map(photoOf),
    primary_photo_cropped: photos[0] === undefined ? null : croppedOf(photos[0]),
    videos: (pet.videos ?? []).map(url => ({ embed: `<a href="${escapeHtml(url)}">${escapeHtml(url)}</a>` })),
    status,
    status_changed_at: timeOf(pet.updatedAt!),
    published_at: timeOf(pet.createdAt!),
    distance: pet.distance?.value ?? null,
    contact: contactOf(organization),
    _links: {
      self: { href: `${base}/animals/${id}` },
      type: { href: typeLink(base, type) },
      ...(organization && { organization: { href: organizationLink(base, organization) } }),
    },
  };
}

/** Returns an organization as Petfinder's API shows it. @param distance in miles */
export function shelterOf(organization: Organization, base: string, publicUrl: string, distance?: number) {
  const { id, name, website, mission, adoption, hours, socialMedia = [], photos = [] } = organization;
  return {
    id: shownOrganizationId(id),
    name,
    ...contactOf(organization),
    hours: Object.fromEntries(weekdays.map(day => [day, hours?.[day] ?? null])),
    url: `${publicUrl}/organizations/${id}`,
    website: website ?? null,
    mission_statement: mission ?? null,
    adoption: { policy: adoption?.policy ?? null, url: adoption?.url ?? null },
    social_media: Object.fromEntries(socialSites.map(site => [site, socialMedia.find(isOf(site)) ?? null])),
    photos: photos.map(photoOf),
    distance: distance ?? null,
    _links: {
      self: { href: organizationLink(base, organization) },
      animals: { href: `${base}/animals?organization=${shownOrganizationId(id).toLowerCase()}` },
    },
  };
}

const socialSites = ['facebook', 'twitter', 'youtube', 'instagram', 'pinterest'];

function isOf(site: string) {
  const hosts = site === 'twitter' ? ['twitter.com', 'x.com'] : [`${site}.com`];
  return (url: string) => {
    const { hostname } = new URL(url);
    return hosts.some(host => hostname === host || hostname.endsWith(`.${host}`));
  };
}

function organizationLink(base: string, { id }: Organization): string {
  return `${base}/organizations/${shownOrganizationId(id).toLowerCase()}`;
}

function contactOf({ email, phone, address }: Partial<Organization> = {}) {
  return { email: email ?? null, phone: phone ?? null, address: addressOf({ address }) };
}

function addressOf({ address }: { readonly address?: Organization['address'] | undefined }) {
  return {
    address1: address?.line1 ?? null,
    address2: address?.line2 ?? null,
    city: address?.city ?? null,
    state: address?.state ?? null,
    postcode: address?.postalCode ?? null,
    country: address?.country ?? null,
  };
}

function photoOf({ urls }: Photo) {
  return { small: urls?.['100'], medium: urls?.['300'], large: urls?.['600'], full: urls?.['1280'] };
}

/** There is one cropped size. */
function croppedOf({ urls }: Photo) {
  const cropped = urls?.['450'];
  return { small: cropped, medium: cropped, large: cropped, full: urls?.['1280'] };
}

function named(value: string | undefined): string | null {
  return value === undefined ? null : capitalized(value);
}

function answered(answer: YesNoUnknown | undefined): boolean | null {
  return answer === undefined || answer === 'unknown' ? null : answer === 'yes';
}

const SUMMARY_LENGTH = 100;

/** Returns the beginning of a text, with HTML entities. */
function summaryOf(text: string): string {
  const characters = [...text];
  const isLong = characters.length > SUMMARY_LENGTH;
  return escapeHtml(characters.slice(0, SUMMARY_LENGTH).join('')) + (isLong ? '...' : '');
}

/** Returns a time in the form of Petfinder's API: `2020-11-05T21:47:45+0000`. */
function timeOf(time: string): string {
  return time.replace(/(\.\d+)?Z$/, '+0000');
}
