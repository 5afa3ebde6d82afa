import { keyPage, keysPage, newKeyPage, revokeKeyPage, rotateKeyPage } from './keys/pages.ts';
import { animalPage } from './pets/pages/animal-page.ts';
import { animalsPage } from './pets/pages/list-page.ts';
import { linkPage } from './sessions/link-page.ts';
import { forgotPasswordPage, signInPage, signOutPage, signUpPage } from './sessions/pages.ts';
import { deprecation } from './web/deprecation-page.ts';
import { errorCode, errorCodes } from './web/error-pages.ts';
import { frontPage } from './web/front/front-page.ts';
import type { Page } from './web/page.ts';

/** Every page, in the order of the menus. */
export const pages: readonly Page[] = [
  frontPage,
  animalsPage,
  animalPage,

  signInPage,
  signUpPage,
  forgotPasswordPage,
  linkPage,
  signOutPage,
  keysPage,
  newKeyPage,
  keyPage,
  rotateKeyPage,
  revokeKeyPage,

  errorCodes,
  errorCode,
  deprecation,
];
