import type { PetStatus } from '../pets/pet.ts';

export interface SamplePet {
  readonly name: string;
  /** A built-in category, 1–8. */
  readonly categoryId: number;
  readonly status: PetStatus;
}

/**
 * Returns the sample pets in the order in which they are created, always the same. Categories are mixed in proportion to
 * their size, and most pets are available.
 */
export function samplePets(): readonly SamplePet[] {
  return Object.entries(names)
    .flatMap(([category, text]) => {
      const ofCategory = text.split(',').map(name => name.trim());
      return ofCategory.map((name, index) => ({
        name,
        categoryId: Number(category),
        fraction: (index + 0.5) / ofCategory.length,
      }));
    })
    .sort((one, other) => one.fraction - other.fraction || one.categoryId - other.categoryId)
    .map(({ name, categoryId }, index) => ({ name, categoryId, status: statuses[index % statuses.length]! }));
}

/** Seventeen statuses, so that the cycle does not coincide with those of categories and owners. */
const statuses = (
  'available available pending available available sold available available available ' +
  'pending available sold available available available sold available'
).split(' ') as readonly PetStatus[];

/** The names by category, unique within each: common names of pets in several languages and scripts, collected by hand. */
const names: Readonly<Record<number, string>> = {
  // Dogs
  1: `Bella, Max, Luna, Charlie, Cooper, Daisy, Rocky, Sadie, Bear, Molly, Duke, Lola, Tucker, Bailey, Zeus, Stella, Jack,
    Penny, Toby, Rosie, Winston, Ruby, Murphy, Willow, Finn, Nala, Bruno, Ellie, Scout, Maggie, Gus, Piper, Otis, Hazel,
    Louie, Gracie, Moose, Athena, Apollo, Koda, Ranger, Roxy, Dexter, Josie, Hank, Millie, Boomer, Juniper, Ziggy, Maple,
    Archie, Olive, Remy, Freya, Jasper, Poppy, Chester, Ginger, Brutus, Pippa, Biscuit, Indie, Rufus, Tilly, Mochi, Banjo,
    Waffles, Cricket, Odin, Clementine, Barkley, Flora, Hugo, Marley, Sable, Waldo, Xena, Bonnie, Clyde, Fjord, Bärli,
    Amélie, Łatka, Balto, Señor Pancho, Kuma, Hachi, Enzo, Fido, Greta, Arlo, Domino, Nutmeg, Pablo, Beatrix, Sir Barkley,
    Captain, Dolly, Echo, Frankie, Goose, Harley, Iris, Jolene, Kiwi, Lenny`,
  // Cats
  2: `Oliver, Leo, Milo, Cleo, Simba, Lily, Chloe, Oreo, Smokey, Nova, Jinx, Tigger, Callie, Salem, Pumpkin, Mittens, Felix,
    Whiskers, Shadow, Sophie, Binx, Marbles, Pepper, Boots, Ivy, Thomas, Cosmo, Misty, Sylvester, Minnie, Tango, Zelda,
    Pickles, Casper, Sushi, Mango, Phoebe, Garfield, Kiki, Loki, Duchess, Figaro, Pebbles, Socks, Nimbus, Bagheera, Opal,
    Romeo, Juliet, Merlin, Noodle, Toulouse, Berlioz, Snowball, Tabitha, Ozzy, Cinnamon, Gizmo, Princess Buttercup, Ash,
    Maki, Yuki, 小雪, Mačka, Minou, Gatito, Zimt, Schnurri, Murka, Bastet, Earl Grey, Chai, Matcha, Pixel, Widget, Sprocket,
    Inky, Patches, Freckles, Hobbes, Heathcliff, Mr. Tibbs, Lady Jane, Velvet, Onyx, Jade, Saffron, Sage, Basil, Fennel,
    Mouse, Tuna, Bilbo, Wren, Dinah, Crumpet, Scone, Bramble, Fig, Quincy`,
  // Rabbits
  3: `Thumper, Flopsy, Mopsy, Cottontail, Clover, Hopscotch, Bun-Bun, Parsley, Nibbles, Fiver, Bigwig, Dandelion, Pippin,
    Honeybun, Snowdrop, Carrots, Marshmallow, Binky, Peter, Benjamin, Lavender, Oatmeal, Butterscotch, Domino, Harvey,
    Jellybean, Mopple, Hazelnut, Thistle, Truffle, Velveteen, Radish, Sorrel, Tansy, Bluebell, Cocoa, Ludo, Miffy, Usagi`,
  // Small & furry
  4: `Peanut, Hammy, Squeak, Cashew, Acorn, Chip, Dale, Gadget, Teddy, Almond, Pistachio, Rizzo, Splinter, Biscotti, Popcorn,
    Sesame, Wheek, Ratatouille, Stuart, Nugget, Tofu, Gingersnap, Bandit, Noodles, Slinky, Weasley, Zippy, Chinchilly, Dusty,
    Ferris, Mocha, Patch, Fuzz, Hubert, Speedy, Tumbles, Walnut, Quinoa, Pip, Muffin`,
  // Horses
  5: `Comet, Thunder, Silver, Dakota, Blaze, Star, Spirit, Misty Morning, Cheyenne, Rusty, Buttercup, Bandolero, Starlight,
    Whistlejacket, Copper, Belle, Juno, Ransom, Sugar, Fjalar, Sleipnir, Halla, Ebony, Marigold, Tornado, Aragon`,
  // Birds
  6: `Kiwi, Sunny, Tweety, Rio, Skye, Mango, Polly, Pepe, Iago, Zazu, Cheeky, Blue, Coco, Peaches, Periwinkle, Chirpy, Phoenix,
    Tiki, Echo, Papaya, Captain Flint, Azul, Lemon, Biscuit, Piccolo, Mozart, Figgy, Bijou, Pico, Olive, Zephyr`,
  // Scales, fins & others
  7: `Spike, Rex, Sheldon, Nemo, Dory, Shelly, Franklin, Draco, Drogo, Slither, Kaa, Bubbles, Finley, Crush, Squirt, Leonardo,
    Godzilla, Pascal, Smaug, Toothless, Monty, Nagini, Coral, Sebastian, Gary, Sandy, Ripley, Hermes, Iggy`,
  // Barnyard
  8: `Henrietta, Wilbur, Babe, Clarabelle, Daisy May, Billy, Nanny, Agnes, Shaun, Bessie, Napoleon, Snowball, Hamlet, Truffles,
    Pecky, Foghorn, Lady Cluck, Goldie, Maude, Waddles, Gertie, Ferdinand, Rosemary, Buckley, Esmeralda, Barnaby, Winnie,
    Dumpling, Petunia, Hilda`,
};
