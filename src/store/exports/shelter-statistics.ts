import { type ScanRequest, startScan } from '../../lib/http/pagination/scan-queue.ts';
import { alongIndex } from '../../lib/storage/keyset.ts';
import { formatDate, parseDate } from '../../lib/time.ts';
import { type Static, Type } from '../../lib/type.ts';
import type { intakeKinds, outcomeKinds } from '../../model/profile.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import { categoryPaths } from '../categories/paths.ts';

const count = Type.Integer({ minimum: 0, description: 'Animals.' });
const counts = <Name extends string>(names: readonly Name[], description: string) =>
  Type.Object(Object.fromEntries(names.map(name => [name, count])) as Record<Name, typeof count>, { description });

const intakes = [
  ...['strayAtLarge', 'relinquishedByOwner', 'ownerIntendedEuthanasia', 'transferredInFromAgency'],
  ...['seizedOrImpounded', 'otherIntakes'],
] as const;
const liveOutcomes = [
  ...['adoption', 'returnedToOwner', 'transferredToAgency', 'returnedToField', 'otherLiveOutcome'],
] as const;
const otherOutcomes = ['diedInCare', 'lostInCare', 'shelterEuthanasia', 'ownerIntendedEuthanasia'] as const;

const ages = ['upToFiveMonths', 'adult', 'ageUnknown'] as const;
type AgeGroup = (typeof ages)[number];

/** The species by the ids of the built-in categories. */
const speciesOf: ReadonlyMap<number, string> = new Map(
  ['canine', 'feline', 'rabbit', 'small_mammal', 'equine', 'bird', 'reptile_or_amphibian', 'farm_animal'].map(
    (species, index) => [index + 1, species],
  ),
);
const OTHER = 'other';

const Movements = Type.Object(
  {
    age: Type.Enum([...ages], { description: 'The age at the intake or the outcome.' }),
    liveIntake: counts(intakes, 'The animals that came in, by the kind of their intake.'),
    liveOutcomes: counts(liveOutcomes, 'The animals that left alive, by the kind of their outcome.'),
    otherOutcomes: counts(otherOutcomes, 'The animals with another outcome, by its kind.'),
  },
  { title: 'ShelterMovements', description: 'The intakes and outcomes of animals of one age.' },
);

export const ShelterStatistics = Type.Object(
  {
    month: Type.String({ description: 'The month, in UTC.' }),
    beginDate: Type.String({ format: 'date', description: 'The first day of the month.' }),
    endDate: Type.String({ format: 'date', description: 'The last day of the month.' }),
    species: Type.Array(
      Type.Object({
        species: Type.Enum([...speciesOf.values(), OTHER], { description: 'The species, by the top-level category.' }),
        animalCounts: counts(
          ['beginning', 'ending'],
          'The animals in care before the first day, and after the last day.',
        ),
        ages: Type.Array(Movements, { maxItems: 3, description: 'The three groups of ages.' }),
      }),
      { maxItems: speciesOf.size + 1, description: 'The species with animals in care, intakes or outcomes.' },
    ),
  },
  { title: 'ShelterStatistics', description: 'A month in the terms of Shelter Animals Count.' },
);
export type ShelterStatistics = Static<typeof ShelterStatistics>;
type Species = ShelterStatistics['species'][number];

/**
 * Counts the intakes and outcomes of an account's animals in a month, from their profiles. Only the last intake and
 * outcome of an animal count.
 * @param month `2026-10`
 */
export async function shelterStatistics(
  database: Database,
  accountId: number,
  month: string,
  request?: ScanRequest,
): Promise<ShelterStatistics> {
  const start = parseDate(`${month}-01`)!;
  const end = nextMonth(start);
  const found = new Map<string, Species>();
  using turns = startScan(request);
  for (let after = 0; await turns.turn(); ) {
    const rows = await database.all(petsOf, { accountId, after, rows: ROWS_PER_TURN });
    const paths = await categoryPaths(database, [...new Set(rows.map(({ categoryId }) => categoryId))]);
    for (const row of rows) countPet(row, speciesOf.get(paths.get(row.categoryId)?.[0]?.id ?? 0) ?? OTHER);
    if (rows.length < ROWS_PER_TURN) break;
    after = rows.at(-1)!.id;
  }
  const species = [...speciesOf.values(), OTHER].flatMap(name => found.get(name) ?? []);
  return { month, beginDate: formatDate(start), endDate: formatDate(end - 1), species };

  function countPet({ birthDate, intake, outcome }: CountedRow, name: string): void {
    const came = movementOf<IntakeKind>(intake);
    const left = movementOf<OutcomeKind>(outcome);
    const [cameAt, leftAt] = [dateOf(came?.date), dateOf(left?.date)];
    const isIn = (at: number | undefined) => at !== undefined && at >= start && at < end;
    const inCare = (at: number) => cameAt !== undefined && cameAt < at && (leftAt === undefined || leftAt >= at);
    const numbers = [inCare(start), inCare(end), isIn(cameAt), isIn(leftAt)];
    if (!numbers.some(Boolean)) return;
    const counted = found.getOrInsertComputed(name, () => emptySpecies(name));
    if (inCare(start)) counted.animalCounts.beginning++;
    if (inCare(end)) counted.animalCounts.ending++;
    if (isIn(cameAt)) movementsOf(counted, birthDate, cameAt!).liveIntake[intakeNames[came?.kind ?? 'other']]++;
    if (isIn(leftAt)) countOutcome(movementsOf(counted, birthDate, leftAt!), left?.kind ?? 'other');
  }
}

function movementOf<Kind>(json: string | null): { readonly date?: string; readonly kind?: Kind } | undefined {
  return json === null ? undefined : JSON.parse(json);
}

function countOutcome(movements: ReturnType<typeof movementsOf>, kind: OutcomeKind): void {
  if (kind in otherOutcomeNames) movements.otherOutcomes[otherOutcomeNames[kind as OtherOutcomeKind]]++;
  else movements.liveOutcomes[liveOutcomeNames[kind as LiveOutcomeKind]]++;
}

type IntakeKind = (typeof intakeKinds)[number];
type OutcomeKind = (typeof outcomeKinds)[number];
type OtherOutcomeKind = 'died_in_care' | 'lost_in_care' | 'shelter_euthanasia' | 'owner_intended_euthanasia';
type LiveOutcomeKind = Exclude<OutcomeKind, OtherOutcomeKind>;

/** Adoption returns count as relinquished by their owner, as in asm3. */
const intakeNames: Readonly<Record<IntakeKind, (typeof intakes)[number]>> = {
  stray: 'strayAtLarge',
  owner_surrender: 'relinquishedByOwner',
  returned: 'relinquishedByOwner',
  owner_intended_euthanasia: 'ownerIntendedEuthanasia',
  transfer_in: 'transferredInFromAgency',
  seized: 'seizedOrImpounded',
  born_in_care: 'otherIntakes',
  other: 'otherIntakes',
};
const liveOutcomeNames: Readonly<Record<LiveOutcomeKind, (typeof liveOutcomes)[number]>> = {
  adoption: 'adoption',
  returned_to_owner: 'returnedToOwner',
  transfer_out: 'transferredToAgency',
  returned_to_field: 'returnedToField',
  other: 'otherLiveOutcome',
};
const otherOutcomeNames: Readonly<Record<OtherOutcomeKind, (typeof otherOutcomes)[number]>> = {
  died_in_care: 'diedInCare',
  lost_in_care: 'lostInCare',
  shelter_euthanasia: 'shelterEuthanasia',
  owner_intended_euthanasia: 'ownerIntendedEuthanasia',
};

function movementsOf({ ages }: Species, birthDate: number | null, at: number) {
  const age = ageGroupAt(birthDate, at);
  return ages.find(one => one.age === age)!;
}

function ageGroupAt(birthDate: number | null, at: number): AgeGroup {
  if (birthDate === null) return 'ageUnknown';
  const born = new Date(birthDate);
  const limit = Date.UTC(born.getUTCFullYear(), born.getUTCMonth() + 5, born.getUTCDate());
  return at <= limit ? 'upToFiveMonths' : 'adult';
}

function emptySpecies(species: string): Species {
  const zeros = <Name extends string>(names: readonly Name[]) =>
    Object.fromEntries(names.map(name => [name, 0])) as Record<Name, number>;
  return {
    species: species as Species['species'],
    animalCounts: zeros(['beginning', 'ending']),
    ages: ages.map(age => ({
      age,
      liveIntake: zeros(intakes),
      liveOutcomes: zeros(liveOutcomes),
      otherOutcomes: zeros(otherOutcomes),
    })),
  };
}

/** Returns the start of the month after that which begins at `start`. */
function nextMonth(start: number): number {
  const date = new Date(start);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

/** Returns the month before that of a time: `2026-10`. */
export function monthBefore(now: number): string {
  const date = new Date(now);
  return formatDate(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1)).slice(0, 'yyyy-mm'.length);
}

function dateOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseDate(text);
}

interface CountedRow {
  readonly birthDate: number | null;
  readonly intake: string | null;
  readonly outcome: string | null;
}

const ROWS_PER_TURN = 500;

const petsOf = query((db, p: Params<{ accountId: number; after: number; rows: number }>, engine) => {
  const pets = db
    .selectFrom('pets')
    .select(['pets.id', 'category_id as categoryId', 'birth_date as birthDate', 'intake', 'outcome']);
  const range = { prefix: [['pets.account_id', p.accountId]], key: ['pets.id'], after: [p.after] } as const;
  return alongIndex(engine, false, pets, range).limit(p.rows);
});
