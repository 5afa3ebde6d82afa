import { type Cat, cat } from './cats.ts';
import { type Dog, dog } from './dogs.ts';
import { cow, crab, fish, goat, hen, horse, lizard, pig, sheep, snake, turtle } from './others.ts';
import type { Ground } from './shapes.ts';
import { bird, rabbit, rodent } from './small.ts';

/** A drawing of an animal in front of a ground. */
interface Look {
  readonly on: Ground;
  readonly draw: string;
}

const hills = (top = '#bfe0ee', bottom = '#9cc87a'): Ground => ({ kind: 'hills', top, bottom });
const room = (top = '#f1d9c4', bottom = '#c99a72'): Ground => ({ kind: 'room', top, bottom });
const plain = (top: string, bottom: string): Ground => ({ kind: 'plain', top, bottom });
const leaves = (top = '#cfe6c8', bottom = '#86b878'): Ground => ({ kind: 'leaves', top, bottom });
const sea = (top = '#8fd0e0', bottom = '#ecd9a6'): Ground => ({ kind: 'sea', top, bottom });
const sand = (top = '#f6d9ad', bottom = '#e2b878'): Ground => ({ kind: 'sand', top, bottom });

const ofDog = (on: Ground, look: Dog): Look => ({ on, draw: dog(look) });
const ofCat = (on: Ground, look: Cat): Look => ({ on, draw: cat(look) });

/** The drawings by name. The profiles of the sample animals name them. */
export const looks: Readonly<Record<string, Look>> = {
  'dog-golden': ofDog(hills(), { coat: '#e3b167', pale: '#f7dfb2', ears: 'floppy', collar: '#3f7fb5', tongue: true }),
  'dog-black': ofDog(room('#f3c9b8', '#b97f64'), {
    coat: '#3b3836',
    pale: '#57514d',
    ears: 'floppy',
    collar: '#e0483e',
    tongue: true,
    eyes: '#a5693a',
  }),
  'dog-chocolate': ofDog(plain('#cfe3d6', '#e9f3ea'), {
    coat: '#7a4c31',
    pale: '#a5724f',
    ears: 'floppy',
    collar: '#66b39a',
  }),
  'dog-beagle': ofDog(hills('#f7d9b0', '#b7c56d'), {
    coat: '#c47f3d',
    pale: '#fdf6ea',
    ears: 'long',
    ear: '#8f5527',
    face: 'blaze',
    collar: '#c63d3d',
    tongue: true,
  }),
  'dog-shepherd': ofDog(hills('#cfd9ee', '#8fb07a'), {
    coat: '#c08a4c',
    pale: '#4a3b31',
    ears: 'pointed',
    ear: '#6b4a2c',
    face: 'brindle',
    collar: '#2f6d5b',
    tongue: true,
  }),
  'dog-husky': ofDog(plain('#bcd7ea', '#ffffff'), {
    coat: '#6b7480',
    pale: '#fafafa',
    ears: 'pointed',
    face: 'mask',
    collar: '#d5574e',
    eyes: '#7cc4ea',
  }),
  'dog-corgi': ofDog(hills('#ffe0c2', '#a9cc83'), {
    coat: '#de9347',
    pale: '#fff8ee',
    ears: 'pointed',
    ear: '#cd7f36',
    face: 'blaze',
    collar: '#5577b5',
    tongue: true,
  }),
  'dog-dalmatian': ofDog(room('#cfe0e4', '#8aa7b0'), {
    coat: '#faf8f5',
    pale: '#ffffff',
    ears: 'floppy',
    ear: '#3b3836',
    face: 'spots',
    mark: '#3b3836',
    collar: '#d8433f',
  }),
  'dog-poodle': ofDog(plain('#f3d3dc', '#fdf0f3'), {
    coat: '#f2e3cf',
    pale: '#fbf4e8',
    ears: 'long',
    ear: '#e2cba9',
    hair: 'curly',
    collar: '#a966a3',
  }),
  'dog-doberman': ofDog(room('#d9d2ea', '#9a8bb5'), {
    coat: '#37312f',
    pale: '#b5743c',
    ears: 'half',
    face: 'points',
    mark: '#b5743c',
    collar: '#f0b33c',
    eyes: '#a5693a',
  }),
  'dog-terrier': ofDog(hills('#e4ecc8', '#a8bf6f'), {
    coat: '#b89268',
    pale: '#e9d7bb',
    ears: 'half',
    hair: 'shaggy',
    collar: '#3f7fb5',
    tongue: true,
  }),
  'dog-collie': ofDog(hills('#c5e3e8', '#7fb58a'), {
    coat: '#3b3836',
    pale: '#fdfbf7',
    ears: 'half',
    face: 'blaze',
    collar: '#e58a3c',
    tongue: true,
    eyes: '#a5693a',
  }),
  'dog-pitbull': ofDog(plain('#ffdfa8', '#fff3d6'), {
    coat: '#8c95a3',
    pale: '#f4f1ee',
    ears: 'half',
    face: 'blaze',
    collar: '#c84f7c',
  }),
  'dog-jack': ofDog(room('#cde7da', '#86b49c'), {
    coat: '#fbf8f2',
    pale: '#ffffff',
    ears: 'floppy',
    ear: '#a9683a',
    face: 'patch',
    mark: '#c08550',
    collar: '#d5574e',
    tongue: true,
  }),

  'cat-orange': ofCat(room('#d6e6ee', '#93b0c2'), {
    coat: '#eb9a4b',
    pale: '#ffe9cf',
    iris: '#8fbf5a',
    pattern: 'tabby',
    mark: '#c46f22',
  }),
  'cat-black': ofCat(plain('#f5d78e', '#fdf0c8'), {
    coat: '#34323a',
    pale: '#4a4751',
    iris: '#f0c53d',
    nose: '#4a4046',
    collar: '#c63d3d',
  }),
  'cat-tuxedo': ofCat(room('#f0cfd6', '#b98795'), {
    coat: '#34323a',
    pale: '#fbfaf7',
    iris: '#9ccf6d',
    pattern: 'tuxedo',
    collar: '#3f7fb5',
  }),
  'cat-gray': ofCat(plain('#dcd4ee', '#f1edf9'), {
    coat: '#8d96a5',
    pale: '#b7bec9',
    iris: '#e0a93a',
    nose: '#7a7884',
  }),
  'cat-tabby': ofCat(leaves(), {
    coat: '#a08a70',
    pale: '#e9dcc8',
    iris: '#8ab95c',
    pattern: 'tabby',
    mark: '#5f4c3a',
  }),
  'cat-white': ofCat(plain('#a8d5cf', '#d8efec'), {
    coat: '#f8f6f2',
    pale: '#ffffff',
    iris: '#6db5e6',
    collar: '#e58a9c',
  }),
  'cat-calico': ofCat(room('#e6eccb', '#a9b67c'), {
    coat: '#faf6ee',
    pale: '#ffffff',
    iris: '#b9cf55',
    pattern: 'calico',
    mark: '#df8b3f',
    second: '#3f3a3a',
  }),
  'cat-siamese': ofCat(plain('#f3cdb2', '#fbe9dc'), {
    coat: '#efe0c6',
    pale: '#8a6650',
    iris: '#58a8e8',
    pattern: 'points',
    mark: '#66493a',
    nose: '#4b362c',
  }),
  'cat-tortoiseshell': ofCat(leaves('#f3e3bb', '#d3b86a'), {
    coat: '#40352f',
    pale: '#c77f3e',
    iris: '#e3b741',
    pattern: 'tortoiseshell',
    mark: '#cf8339',
    second: '#e3a868',
  }),
  'cat-maine-coon': ofCat(hills('#cfe4da', '#7da77e'), {
    coat: '#8a6a4c',
    pale: '#f0e2cd',
    iris: '#c9b43d',
    pattern: 'tabby',
    mark: '#4a3524',
    long: true,
  }),
  'cat-persian': ofCat(room('#d9d9f0', '#9b9bc6'), {
    coat: '#f0dfc6',
    pale: '#fdf6ea',
    iris: '#e0913a',
    long: true,
    nose: '#d98a80',
  }),
  'cat-ginger-white': ofCat(hills('#fbdcc0', '#c3c377'), {
    coat: '#e59a55',
    pale: '#fffaf2',
    iris: '#7fb58a',
    pattern: 'tuxedo',
    collar: '#5aa39a',
  }),

  'rabbit-gray': { on: hills(), draw: rabbit({ coat: '#a8a2a0', pale: '#efebe7', ears: 'up' }) },
  'rabbit-white': {
    on: plain('#cfe6c2', '#ecf6e6'),
    draw: rabbit({ coat: '#fbfaf7', pale: '#ffffff', ears: 'up', iris: '#d9667a' }),
  },
  'rabbit-brown': { on: leaves(), draw: rabbit({ coat: '#a8795a', pale: '#f0dfcc', ears: 'up' }) },
  'rabbit-dutch': {
    on: hills('#f6d8d2', '#b3c97f'),
    draw: rabbit({ coat: '#fbf8f3', pale: '#ffffff', ears: 'up', mark: '#45403f' }),
  },
  'rabbit-lop': { on: room('#e3d6ee', '#a791bd'), draw: rabbit({ coat: '#e2bd8c', pale: '#fbf0de', ears: 'lop' }) },
  'rabbit-lop-gray': {
    on: plain('#f7d9c0', '#fdeee0'),
    draw: rabbit({ coat: '#c9c4c1', pale: '#f6f3f0', ears: 'lop', mark: '#8a8482' }),
  },

  'hamster-golden': {
    on: room('#fbe0b6', '#d2a35c'),
    draw: rodent({ kind: 'hamster', coat: '#e0a458', pale: '#fff4e0' }),
  },
  'hamster-gray': {
    on: plain('#cfe0ea', '#ecf4f8'),
    draw: rodent({ kind: 'hamster', coat: '#a7a3a5', pale: '#f6f3f1' }),
  },
  'guinea-pig': {
    on: leaves(),
    draw: rodent({ kind: 'guinea pig', coat: '#b9703a', pale: '#fff8ec', mark: '#3f3734' }),
  },
  'guinea-pig-cream': {
    on: hills('#d8ecd2', '#9cc87a'),
    draw: rodent({ kind: 'guinea pig', coat: '#f1d9ae', pale: '#fff9ee', mark: '#b9854a' }),
  },
  'rat-gray': { on: room('#e9d5de', '#b58fa2'), draw: rodent({ kind: 'rat', coat: '#8f8f9c', pale: '#f2eef0' }) },
  ferret: {
    on: plain('#d5e6d8', '#eef6ef'),
    draw: rodent({ kind: 'ferret', coat: '#e9d9bd', pale: '#fbf5ea', mark: '#5b4436' }),
  },
  chinchilla: {
    on: plain('#ead7c4', '#f8ede2'),
    draw: rodent({ kind: 'chinchilla', coat: '#9aa1ad', pale: '#eef0f3' }),
  },

  'horse-bay': { on: hills(), draw: horse({ coat: '#9a5b33', mane: '#332722', muzzle: '#5b3a28', blaze: true }) },
  'horse-gray': {
    on: hills('#d7dcf0', '#8fb58a'),
    draw: horse({ coat: '#c9cbd0', mane: '#8f939b', muzzle: '#8a8a90' }),
  },
  'horse-black': {
    on: hills('#f6cfae', '#b8a35c'),
    draw: horse({ coat: '#3f3a3d', mane: '#252226', muzzle: '#5d565a', blaze: true }),
  },
  'horse-palomino': {
    on: hills('#cfe9f2', '#a8c97a'),
    draw: horse({ coat: '#e0ae62', mane: '#fbf1d8', muzzle: '#c08f5c', blaze: true }),
  },
  'horse-pinto': {
    on: hills('#f3e0c0', '#9fbf7a'),
    draw: horse({ coat: '#f6efe4', mane: '#7a4a2c', muzzle: '#d9a99a', patches: '#8f5a35' }),
  },

  'bird-budgie-blue': {
    on: leaves('#f6ecc4', '#cbd584'),
    draw: bird({
      body: '#5aaede',
      belly: '#8cc9ea',
      head: '#f6f8fa',
      wing: '#3f7fb0',
      beak: '#e3b04b',
      cheek: '#4a5fc0',
      bars: true,
    }),
  },
  'bird-budgie-green': {
    on: leaves('#d8ecf2', '#8cc3b5'),
    draw: bird({
      body: '#7ebd4f',
      belly: '#a5d66f',
      head: '#f5df5a',
      wing: '#5a9140',
      beak: '#e3b04b',
      cheek: '#4a5fc0',
      bars: true,
    }),
  },
  'bird-canary': {
    on: leaves('#cfe8dc', '#79b79a'),
    draw: bird({ body: '#f6d041', belly: '#fbe58a', head: '#f6d041', wing: '#e3ae2a', beak: '#eba06a' }),
  },
  'bird-cockatiel': {
    on: leaves('#e6daf0', '#b9a2d0'),
    draw: bird({
      body: '#9aa0aa',
      belly: '#b7bcc5',
      head: '#f7e27a',
      wing: '#767c87',
      beak: '#8d8d94',
      crest: '#f3d74f',
      cheek: '#ee8a3f',
    }),
  },
  'bird-lovebird': {
    on: leaves('#f8dcc8', '#e0b08a'),
    draw: bird({ body: '#68b357', belly: '#8ccb72', head: '#ef7f5c', wing: '#438c47', beak: '#f0dcc0' }),
  },
  'bird-macaw': {
    on: leaves(),
    draw: bird({
      body: '#dd4138',
      belly: '#e8594c',
      head: '#dd4138',
      wing: '#2f6fc0',
      beak: '#3b3836',
      face: '#fbf3ea',
    }),
  },
  'bird-grey-parrot': {
    on: leaves('#d9e4c8', '#9cb878'),
    draw: bird({
      body: '#8f959d',
      belly: '#b5bac1',
      head: '#a4aab2',
      wing: '#6d737c',
      beak: '#3b3836',
      face: '#e9ebee',
    }),
  },

  'fish-goldfish': { on: sea(), draw: fish({ body: '#f08a34', fin: '#f7b45e', veil: true }) },
  'fish-clown': { on: sea('#7fc4dd', '#e9cf9c'), draw: fish({ body: '#ee7430', fin: '#f39a4c', bands: '#fdfbf6' }) },
  'fish-betta': { on: sea('#a8dcd0', '#e6dcb2'), draw: fish({ body: '#4a5fc0', fin: '#8a4fb0', veil: true }) },
  turtle: { on: sand('#cfe8e4', '#e6cf9a'), draw: turtle({ skin: '#8fb56a', shell: '#8a6a3f' }) },
  'lizard-dragon': { on: sand(), draw: lizard({ skin: '#d9a866', pale: '#f3dcb2', beard: true }) },
  'lizard-gecko': {
    on: leaves('#f3e6c2', '#d0b878'),
    draw: lizard({ skin: '#f2cf57', pale: '#fdf3d2', spots: '#5b4a3a' }),
  },
  'lizard-iguana': { on: leaves(), draw: lizard({ skin: '#6fae5a', pale: '#c9e6a8', beard: true }) },
  snake: { on: plain('#f0dfc2', '#fbf3e4'), draw: snake({ skin: '#e89a5a', marks: '#b5502e' }) },
  crab: { on: sea('#9cd6e6', '#f0d9a2'), draw: crab('#dd5a45') },

  'pig-pink': { on: hills(), draw: pig({ coat: '#f3b3b0', pale: '#ef9a9a' }) },
  'pig-spotted': { on: hills('#fbe3b8', '#c0bf6c'), draw: pig({ coat: '#eec0b4', pale: '#e69b93', mark: '#5b4f4c' }) },
  'hen-white': { on: hills('#cfe6f2', '#a9cc83'), draw: hen({ coat: '#fdf9f2', pale: '#ffffff', mark: '#ece0cc' }) },
  'hen-brown': { on: hills('#fbdcb8', '#b8bf6c'), draw: hen({ coat: '#b9683a', pale: '#d99a6a', mark: '#8f4726' }) },
  goat: { on: hills('#d6e9d8', '#8fb872'), draw: goat({ coat: '#c9a27c', pale: '#fbf4e8', mark: '#8f6a48' }) },
  'goat-white': { on: hills('#f3d7c8', '#a8b878'), draw: goat({ coat: '#f6f1e8', pale: '#ffffff', mark: '#e6d9c6' }) },
  sheep: { on: hills('#c9e4f0', '#95c47c'), draw: sheep({ coat: '#fbf7ef', pale: '#6b5f5a' }) },
  cow: { on: hills('#e0ecf5', '#8fc07a'), draw: cow({ coat: '#fdfaf5', pale: '#eeb5ab', mark: '#3f3a3a' }) },
};
