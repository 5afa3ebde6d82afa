/**
 * The species that shelters name, by the type of animal that has them, as Animal Shelter Manager publishes them
 * (github.com/sheltermanager/asm3, dbupdate.py), and as they write them in lists of their own.
 */
const speciesOfTypes: Readonly<Record<string, readonly string[]>> = {
  Dog: ['dogs', 'canine', 'puppy', 'puppies'],
  Cat: ['cats', 'feline', 'kitten', 'kittens'],
  'Small & Furry': ['mouse', 'rat', 'hedgehog', 'ferret', 'chinchilla', 'gerbil', 'guinea pig', 'hamster'],
  Rabbit: ['rabbits', 'bunny', 'bunnies'],
  Bird: ['parrot', 'parakeet', 'dove', 'owl', 'goose', 'cockatiel'],
  'Scales, Fins & Other': ['snake', 'tortoise', 'terrapin', 'goldfish', 'reptile', 'fish'],
  Barnyard: ['chicken', 'goat', 'pig'],
  Horse: ['camel', 'pony', 'donkey', 'llama'],
};

/** Returns the type of animal that a species belongs to: `Bird` for `Owl`; `undefined` if it is not known. */
export function typeOf(species: string): string | undefined {
  const name = species.trim().toLowerCase();
  return Object.keys(speciesOfTypes).find(type => speciesOfTypes[type]!.includes(name));
}
