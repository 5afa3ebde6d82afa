import {
  account,
  changeEmail,
  changeName,
  changePassword,
  changePlan,
  confirmAgain,
} from './accounts/pages/account.ts';
import { cancelDeletion, deleteAccount, exportData } from './accounts/pages/leaving.ts';
import { cancelImportPage, importErrorsPage, importPage, importsPage } from './imports/pages/imports-page.ts';
import { keyPage, keysPage, newKeyPage, revokeKeyPage, rotateKeyPage } from './keys/pages.ts';
import { organizationsPage } from './organizations/pages/list-page.ts';
import { organizationPage } from './organizations/pages/organization-page.ts';
import { ownOrganizationPage } from './organizations/pages/own-page.ts';
import { animalPage } from './pets/pages/animal-page.ts';
import { cardPage } from './pets/pages/card-page.ts';
import { confirmMessagePage } from './pets/pages/confirm-page.ts';
import { animalsPage } from './pets/pages/list-page.ts';
import { deleteAnimalPage, newAnimalPage, ownAnimalPage, ownAnimalsPage } from './pets/pages/shelter-pages.ts';
import { ownPhotoPages } from './photos/pages/own-photos.ts';
import { linkPage } from './sessions/link-page.ts';
import { endOtherSessionsPage, endSessionPage, sessionsPage } from './sessions/list-page.ts';
import { forgotPasswordPage, signInPage, signOutPage, signUpPage } from './sessions/pages.ts';
import { requestPage, requestsPage } from './usage/pages/requests-page.ts';
import { usagePage } from './usage/pages/usage-page.ts';
import { faviconPage } from './web/assets.ts';
import { deprecation } from './web/deprecation-page.ts';
import { errorCode, errorCodes } from './web/error-pages.ts';
import { frontPage } from './web/front/front-page.ts';
import { changelogFeed, changelogPage } from './web/guides/changelog.ts';
import { guideKeyPage } from './web/guides/key-prompt.ts';
import { llmsFullPage, llmsPage } from './web/guides/llms.ts';
import { guidePage, guidesPage, operatingGuidePage } from './web/guides/pages.ts';
import { accountPage, deletePage, resumePage, suspendPage } from './web/operator/account-page.ts';
import { accountsPage } from './web/operator/accounts-page.ts';
import { auditPage, refusalsPage } from './web/operator/audit-page.ts';
import { categoriesPage, categoryPage, mergePage } from './web/operator/categories-page.ts';
import * as allKeys from './web/operator/keys-page.ts';
import { messagePage, messagesPage } from './web/operator/messages-page.ts';
import { webhooksPage } from './web/operator/webhooks-page.ts';
import { workPage } from './web/operator/work-page.ts';
import type { Page } from './web/page.ts';
import { collectionPage, operationPage, referencePage } from './web/reference/pages.ts';
import { endSandboxKeyPage, sandboxKeyPage } from './web/reference/sandbox-page.ts';
import { searchPage } from './web/search/search-page.ts';
import { robotsPage, sitemapDocumentationPage, sitemapPage, sitemapPartPage } from './web/search/sitemap.ts';
import { securityTextPage } from './web/security-text.ts';
import { withTwin } from './web/twins.ts';

/** Every page with its Markdown twin, in the order of the menus. */
export const pages: readonly Page[] = [
  frontPage,
  animalsPage,
  animalPage,
  cardPage,
  confirmMessagePage,
  organizationsPage,
  organizationPage,
  sitemapPage,
  sitemapDocumentationPage,
  sitemapPartPage,
  robotsPage,
  faviconPage,
  securityTextPage,
  guidesPage,
  guidePage,
  operatingGuidePage,
  guideKeyPage,
  changelogPage,
  changelogFeed,
  llmsPage,
  llmsFullPage,
  referencePage,
  operationPage,
  collectionPage,
  sandboxKeyPage,
  endSandboxKeyPage,
  searchPage,

  signInPage,
  signUpPage,
  forgotPasswordPage,
  linkPage,
  signOutPage,
  account,
  changeName,
  changeEmail,
  confirmAgain,
  changePassword,
  changePlan,
  exportData,
  deleteAccount,
  cancelDeletion,
  ownAnimalsPage,
  newAnimalPage,
  ownAnimalPage,
  deleteAnimalPage,
  importsPage,
  importPage,
  cancelImportPage,
  importErrorsPage,
  ownOrganizationPage,
  ...ownPhotoPages,
  keysPage,
  newKeyPage,
  keyPage,
  rotateKeyPage,
  revokeKeyPage,
  usagePage,
  requestsPage,
  requestPage,
  sessionsPage,
  endOtherSessionsPage,
  endSessionPage,

  accountsPage,
  accountPage,
  suspendPage,
  resumePage,
  deletePage,
  allKeys.keysPage,
  allKeys.keyPage,
  allKeys.revokePage,
  allKeys.liftPage,
  categoriesPage,
  categoryPage,
  mergePage,
  messagesPage,
  messagePage,
  webhooksPage,
  workPage,
  auditPage,
  refusalsPage,

  errorCodes,
  errorCode,
  deprecation,
].flatMap(withTwin);
