import type { NewPet } from '../pets/pet.ts';

/** What the sample animals of one look have in common. */
export interface Kind {
  /** The name of its photo, in `photos/`. */
  readonly photo: string;
  /** What the photo shows. */
  readonly alt: string;
  /** The breeds, of which each animal has one; `mix` after a breed for mixed ones. */
  readonly breeds: readonly string[];
  readonly colors: NonNullable<NewPet['colors']>;
  readonly pattern?: string;
  readonly coat?: NonNullable<NewPet['coat']>;
  readonly size: NonNullable<NewPet['size']>;
  /** From and to, in the unit. */
  readonly weight: readonly [number, number, 'kg' | 'g'];
  /** The names of its animals, where they say what it is; other animals have the kinds without names. */
  readonly names?: string;
}

/** The kinds of each built-in category. Their order is part of the sample data. */
export const kinds: Readonly<Record<number, readonly Kind[]>> = {
  1: [
    dog(
      'golden',
      'golden dog',
      'Golden Retriever, Labrador Retriever, Golden Retriever mix',
      ['Golden'],
      'medium',
      'large',
      [24, 34],
    ),
    dog(
      'beagle',
      'brown and white dog with long ears',
      'Beagle, Beagle mix',
      ['Brown', 'White', 'Black'],
      'short',
      'medium',
      [9, 14],
      'Tricolor',
    ),
    dog('black', 'black dog', 'Labrador Retriever, Labrador Retriever mix', ['Black'], 'short', 'large', [23, 33]),
    dog(
      'shepherd',
      'brown dog with pointed ears',
      'German Shepherd Dog, German Shepherd Dog mix, Belgian Malinois',
      ['Tan', 'Black'],
      'medium',
      'large',
      [24, 38],
    ),
    dog(
      'corgi',
      'orange and white dog',
      'Pembroke Welsh Corgi, Corgi mix',
      ['Red', 'White'],
      'medium',
      'small',
      [9, 13],
      'Bicolor',
    ),
    dog(
      'collie',
      'black and white dog',
      'Border Collie, Border Collie mix',
      ['Black', 'White'],
      'long',
      'medium',
      [14, 21],
      'Bicolor',
    ),
    dog(
      'jack',
      'white dog with a brown patch',
      'Jack Russell Terrier, Parson Russell Terrier mix',
      ['White', 'Brown'],
      'short',
      'small',
      [5, 9],
      'Bicolor',
    ),
    dog(
      'chocolate',
      'brown dog',
      'Labrador Retriever, Chesapeake Bay Retriever mix',
      ['Chocolate'],
      'short',
      'large',
      [25, 34],
    ),
    dog(
      'husky',
      'gray and white dog with blue eyes',
      'Siberian Husky, Husky mix',
      ['Gray', 'White'],
      'long',
      'large',
      [18, 27],
      'Bicolor',
    ),
    dog(
      'terrier',
      'light brown, shaggy dog',
      'Cairn Terrier, Terrier mix, Norwich Terrier',
      ['Wheaten'],
      'wire',
      'small',
      [5, 9],
    ),
    dog(
      'pitbull',
      'gray and white dog',
      'Pit Bull Terrier, American Staffordshire Terrier mix',
      ['Blue', 'White'],
      'short',
      'medium',
      [16, 28],
      'Bicolor',
    ),
    dog(
      'dalmatian',
      'white dog with black spots',
      'Dalmatian, Dalmatian mix',
      ['White', 'Black'],
      'short',
      'large',
      [20, 30],
      'Spotted',
    ),
    dog(
      'poodle',
      'cream-colored dog with curls',
      'Poodle, Goldendoodle, Poodle mix',
      ['Cream'],
      'curly',
      'medium',
      [10, 22],
    ),
    dog(
      'doberman',
      'black dog with a brown face',
      'Doberman Pinscher, Rottweiler mix',
      ['Black', 'Rust'],
      'short',
      'large',
      [28, 42],
      'Bicolor',
    ),
  ],
  2: [
    cat('orange', 'orange cat with stripes', 'Domestic Short Hair', ['Orange'], 'short', 'Tabby'),
    cat(
      'tuxedo',
      'black and white cat',
      'Domestic Short Hair, Domestic Medium Hair',
      ['Black', 'White'],
      'short',
      'Tuxedo',
    ),
    cat('tabby', 'brown cat with stripes', 'Domestic Short Hair, American Shorthair', ['Brown'], 'short', 'Tabby'),
    cat('black', 'black cat with yellow eyes', 'Domestic Short Hair, Bombay mix', ['Black'], 'short'),
    cat(
      'calico',
      'white cat with orange and black patches',
      'Domestic Short Hair',
      ['White', 'Orange', 'Black'],
      'short',
      'Calico',
    ),
    cat('gray', 'gray cat', 'Russian Blue mix, Domestic Short Hair', ['Gray'], 'short'),
    cat(
      'siamese',
      'cream-colored cat with a dark face',
      'Siamese, Siamese mix',
      ['Cream', 'Seal'],
      'short',
      'Colorpoint',
    ),
    cat('maine-coon', 'brown cat with a large ruff', 'Maine Coon, Maine Coon mix', ['Brown', 'Cream'], 'long', 'Tabby'),
    cat('white', 'white cat with blue eyes', 'Domestic Short Hair, Turkish Angora mix', ['White'], 'short'),
    cat('tortoiseshell', 'black and orange cat', 'Domestic Short Hair', ['Black', 'Orange'], 'short', 'Tortoiseshell'),
    cat('persian', 'cream-colored cat with long hair', 'Persian, Himalayan mix', ['Cream'], 'long'),
    cat(
      'ginger-white',
      'orange and white cat',
      'Domestic Short Hair, Domestic Medium Hair',
      ['Orange', 'White'],
      'medium',
      'Bicolor',
    ),
  ],
  3: [
    rabbit('gray', 'gray rabbit', 'American, Chinchilla Rabbit', ['Gray', 'White']),
    rabbit('lop', 'light brown rabbit with hanging ears', 'Holland Lop, Mini Lop', ['Fawn']),
    rabbit('white', 'white rabbit with red eyes', 'New Zealand, Florida White', ['White']),
    rabbit('brown', 'brown rabbit', 'Netherland Dwarf, Rex', ['Brown']),
    rabbit('dutch', 'black and white rabbit', 'Dutch', ['Black', 'White'], 'Bicolor'),
    rabbit(
      'lop-gray',
      'gray and white rabbit with hanging ears',
      'French Lop, Mini Lop mix',
      ['Gray', 'White'],
      'Bicolor',
    ),
  ],
  4: [
    small('hamster-golden', 'golden hamster', 'Syrian Hamster', ['Golden', 'White'], [110, 150]),
    small(
      'guinea-pig',
      'brown, black and white guinea pig',
      'American Guinea Pig, Abyssinian Guinea Pig',
      ['Brown', 'White', 'Black'],
      [750, 1150],
      'Peanut, Squeak, Wheek, Popcorn, Sesame, Patch, Fuzz, Truffle, Nugget',
    ),
    small('hamster-gray', 'gray hamster', 'Dwarf Hamster, Roborovski Hamster', ['Gray', 'White'], [30, 50]),
    small(
      'guinea-pig-cream',
      'cream-colored guinea pig',
      'Peruvian Guinea Pig, Teddy Guinea Pig',
      ['Cream', 'White'],
      [750, 1150],
      'Teddy, Biscotti, Muffin, Hubert, Mocha, Pip',
    ),
    small(
      'rat-gray',
      'gray rat',
      'Fancy Rat',
      ['Gray', 'White'],
      [300, 480],
      'Rizzo, Splinter, Ratatouille, Stuart, Gadget, Noodles',
    ),
    small(
      'ferret',
      'cream-colored ferret with a dark mask',
      'Ferret',
      ['Cream', 'Brown'],
      [800, 1600],
      'Bandit, Slinky, Weasley, Zippy, Ferris, Speedy',
    ),
    small('chinchilla', 'gray chinchilla', 'Chinchilla', ['Gray'], [450, 650], 'Chinchilly, Dusty, Quinoa'),
  ],
  5: [
    horse('bay', 'brown horse with a black mane', 'Quarter Horse, Thoroughbred, Morgan', ['Bay']),
    horse('gray', 'gray horse', 'Arabian, Connemara', ['Gray'], 'Silver, Star, Spirit, Starlight, Misty Morning'),
    horse(
      'palomino',
      'golden horse with a white mane',
      'Quarter Horse, Haflinger',
      ['Palomino'],
      'Buttercup, Sugar, Marigold, Copper',
    ),
    horse('black', 'black horse', 'Friesian, Morgan', ['Black'], 'Ebony, Thunder, Tornado, Ransom'),
    horse(
      'pinto',
      'brown and white horse',
      'Paint, Icelandic',
      ['White', 'Chestnut'],
      'Dakota, Cheyenne, Bandolero, Fjalar',
    ),
  ],
  6: [
    bird('budgie-blue', 'blue budgie', 'Budgie', ['Blue', 'White'], 'small', [30, 40]),
    bird(
      'canary',
      'yellow canary',
      'Canary',
      ['Yellow'],
      'small',
      [16, 25],
      'Sunny, Tweety, Lemon, Chirpy, Mozart, Piccolo',
    ),
    bird('cockatiel', 'gray cockatiel with a yellow crest', 'Cockatiel', ['Gray', 'Yellow'], 'medium', [80, 110]),
    bird('budgie-green', 'green budgie with a yellow head', 'Budgie', ['Green', 'Yellow'], 'small', [30, 40]),
    bird(
      'macaw',
      'red macaw with blue wings',
      'Macaw',
      ['Red', 'Blue'],
      'large',
      [900, 1200],
      'Rio, Captain Flint, Phoenix, Iago',
    ),
    bird(
      'lovebird',
      'green lovebird with a peach-colored head',
      'Lovebird',
      ['Green', 'Peach'],
      'small',
      [45, 60],
      'Peaches, Papaya, Mango, Coco',
    ),
    bird('grey-parrot', 'gray parrot', 'African Grey', ['Gray'], 'medium', [400, 500], 'Polly, Echo, Azul, Zazu'),
  ],
  7: [
    other('lizard-dragon', 'bearded dragon', 'Bearded Dragon', ['Tan'], 'medium', [300, 500]),
    other('fish-goldfish', 'orange goldfish', 'Goldfish', ['Orange'], 'small', [20, 60], 'Bubbles, Coral, Finley'),
    other(
      'fish-clown',
      'orange fish with white bands',
      'Clownfish',
      ['Orange', 'White'],
      'small',
      [10, 20],
      'Nemo, Gary',
    ),
    other('fish-betta', 'blue and purple fish', 'Betta', ['Blue', 'Purple'], 'small', [3, 6], 'Dory'),
    other(
      'turtle',
      'turtle',
      'Red-Eared Slider, Box Turtle, Russian Tortoise',
      ['Green', 'Brown'],
      'medium',
      [600, 1400],
      'Sheldon, Shelly, Franklin, Crush, Squirt, Leonardo, Hermes',
    ),
    other(
      'snake',
      'orange snake with red marks',
      'Corn Snake, Ball Python',
      ['Orange', 'Red'],
      'medium',
      [500, 1200],
      'Slither, Kaa, Monty, Nagini',
    ),
    other(
      'lizard-gecko',
      'yellow gecko with dark spots',
      'Leopard Gecko',
      ['Yellow', 'Brown'],
      'small',
      [50, 80],
      'Pascal, Sandy, Spike, Ripley',
    ),
    other('crab', 'red crab', 'Hermit Crab', ['Red'], 'small', [40, 90], 'Sebastian'),
    other('lizard-iguana', 'green lizard', 'Iguana', ['Green'], 'large', [2500, 4000], 'Iggy, Godzilla, Smaug, Drogo'),
  ],
  8: [
    farm('hen-brown', 'brown hen', 'Rhode Island Red, Welsummer', ['Red'], 'small', [2, 4]),
    farm(
      'pig-pink',
      'pink pig',
      'Pot Bellied Pig',
      ['Pink'],
      'large',
      [45, 80],
      'Wilbur, Babe, Hamlet, Petunia, Waddles',
    ),
    farm(
      'hen-white',
      'white hen',
      'Leghorn, Plymouth Rock',
      ['White'],
      'small',
      [2, 3],
      'Henrietta, Lady Cluck, Maude, Hilda',
    ),
    farm(
      'goat',
      'brown and white goat',
      'Boer Goat, Nigerian Dwarf Goat',
      ['Brown', 'White'],
      'medium',
      [30, 60],
      'Billy, Gertie, Barnaby, Esmeralda',
    ),
    farm(
      'cow',
      'black and white cow',
      'Holstein, Miniature Holstein',
      ['Black', 'White'],
      'xlarge',
      [380, 620],
      'Clarabelle, Daisy May, Bessie, Ferdinand, Buckley, Rosemary',
    ),
    farm('sheep', 'white sheep', 'Suffolk, Shetland', ['White'], 'medium', [40, 80], 'Shaun, Snowball, Agnes, Winnie'),
    farm('goat-white', 'white goat', 'Saanen Goat', ['White'], 'medium', [40, 60], 'Nanny'),
    farm(
      'pig-spotted',
      'pink pig with dark spots',
      'Kunekune, Pot Bellied Pig mix',
      ['Pink', 'Black'],
      'large',
      [50, 90],
      'Napoleon, Truffles, Dumpling',
    ),
  ],
};

type Coat = NonNullable<Kind['coat']>;

function dog(
  look: string,
  alt: string,
  breeds: string,
  colors: readonly string[],
  coat: Coat,
  size: Kind['size'],
  kg: readonly [number, number],
  pattern?: string,
): Kind {
  return {
    ...kindOf(`dog-${look}`, alt, breeds, colors),
    coat,
    size,
    weight: [...kg, 'kg'],
    ...(pattern !== undefined && { pattern }),
  };
}

function cat(look: string, alt: string, breeds: string, colors: readonly string[], coat: Coat, pattern?: string): Kind {
  const [size, weight] =
    look === 'maine-coon' ? (['large', [5, 9, 'kg']] as const) : (['medium', [3, 6, 'kg']] as const);
  return {
    ...kindOf(`cat-${look}`, alt, breeds, colors),
    coat,
    size,
    weight,
    ...(pattern !== undefined && { pattern }),
  };
}

function rabbit(look: string, alt: string, breeds: string, colors: readonly string[], pattern?: string): Kind {
  return {
    ...kindOf(`rabbit-${look}`, alt, breeds, colors),
    coat: 'short',
    size: 'small',
    weight: [1, 4, 'kg'],
    ...(pattern !== undefined && { pattern }),
  };
}

function small(
  look: string,
  alt: string,
  breeds: string,
  colors: readonly string[],
  grams: readonly [number, number],
  names?: string,
): Kind {
  return { ...kindOf(look, alt, breeds, colors, names), coat: 'short', size: 'small', weight: [...grams, 'g'] };
}

function horse(look: string, alt: string, breeds: string, colors: readonly string[], names?: string): Kind {
  return {
    ...kindOf(`horse-${look}`, alt, breeds, colors, names),
    coat: 'short',
    size: 'xlarge',
    weight: [380, 560, 'kg'],
  };
}

function bird(
  look: string,
  alt: string,
  breeds: string,
  colors: readonly string[],
  size: Kind['size'],
  grams: readonly [number, number],
  names?: string,
): Kind {
  return other(`bird-${look}`, alt, breeds, colors, size, grams, names);
}

function other(
  look: string,
  alt: string,
  breeds: string,
  colors: readonly string[],
  size: Kind['size'],
  grams: readonly [number, number],
  names?: string,
): Kind {
  return { ...kindOf(look, alt, breeds, colors, names), size, weight: [...grams, 'g'] };
}

function farm(
  look: string,
  alt: string,
  breeds: string,
  colors: readonly string[],
  size: Kind['size'],
  kg: readonly [number, number],
  names?: string,
): Kind {
  return { ...kindOf(look, alt, breeds, colors, names), size, weight: [...kg, 'kg'] };
}

function kindOf(photo: string, alt: string, breeds: string, colors: readonly string[], names?: string) {
  const [primary, secondary, tertiary] = colors;
  return {
    photo,
    alt: `A drawing of a ${alt}.`,
    breeds: breeds.split(', '),
    colors: { primary: primary!, ...(secondary && { secondary }), ...(tertiary && { tertiary }) },
    ...(names !== undefined && { names }),
  };
}
