import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NewPet, petFields } from '../../model/pet.ts';
import { groupsOf, keptFields, TYPED_AGE } from './form-groups.ts';
import { petForm } from './pet-form.ts';

describe('the sections of the form of an animal', () => {
  const groups = groupsOf(petForm.names);

  it('have every field of the form once, and no other', () => {
    const placed = groups.flatMap(({ fields }) => fields.map(({ field }) => field));
    assert.deepEqual(placed.toSorted(), petForm.names.toSorted());
  });

  it('have every field of the API, except the texts with names of their own', () => {
    const members = new Set(petForm.names.map(name => name.split('/')[0]!));
    const fields = Object.keys(NewPet.properties).filter(name => name !== 'extra');
    assert.deepEqual([...members].toSorted(), [...fields, TYPED_AGE].toSorted());
  });

  it('show a field that nobody has placed under "More"', () => {
    const [more] = groupsOf([...petForm.names, 'whiskers', 'tail/length']).slice(-1);
    assert.equal(more?.title, 'More');
    assert.deepEqual(
      more?.fields.map(({ field }) => field),
      ['whiskers', 'tail/length'],
    );
  });

  it('say "Only your shelter sees this" exactly where that is true', () => {
    const isOwners = (field: string) => {
      const [name] = field.split('/') as [keyof typeof petFields];
      return field !== TYPED_AGE && (petFields[name] as { visibleTo?: string }).visibleTo === 'owner';
    };
    for (const { id, fields } of groups.filter(({ id }) => id !== 'more')) {
      for (const { field } of fields) assert.equal(isOwners(field), id === 'private', field);
    }
  });

  it('keep the kind, the breed, the intake, the place and the litter for the next animal', () => {
    const kept = new Set(keptFields.map(name => name.split('/')[0]));
    assert.deepEqual([...kept].toSorted(), ['breeds', 'categoryId', 'group', 'intake', 'shelterLocation']);
  });
});
