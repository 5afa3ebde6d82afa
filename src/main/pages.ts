import {
  account,
  changeEmail,
  changeName,
  changeOwnName,
  changePassword,
  confirmAgain,
} from '../web/accounts/account.ts';
import { cancelDeletion, dataPage, deleteAccount, exportData } from '../web/accounts/leaving.ts';
import { planPage } from '../web/accounts/plan-page.ts';
import { faviconPage } from '../web/assets.ts';
import { errorCode, errorCodes } from '../web/error-pages.ts';
import { frontPage } from '../web/front/front-page.ts';
import { changelogFeed, changelogPage } from '../web/guides/changelog.ts';
import { guideKeyPage } from '../web/guides/key-prompt.ts';
import { llmsFullPage, llmsPage } from '../web/guides/llms.ts';
import { guidePage, guidesPage, operatingGuidePage } from '../web/guides/pages.ts';
import { homePage } from '../web/home/home-page.ts';
import { cancelImportPage, importErrorsPage, importPage, importsPage } from '../web/imports/imports-page.ts';
import { keyPage, keysPage, newKeyPage, revokeKeyPage, rotateKeyPage } from '../web/keys/pages.ts';
import { blockedSendersPage } from '../web/messages/blocked-page.ts';
import { inboxPage } from '../web/messages/inbox-page.ts';
import { mailStopPage } from '../web/messages/mail-stop-page.ts';
import { inboxMessagePage } from '../web/messages/message-page.ts';
import { noticesPage } from '../web/messages/notices-page.ts';
import { accountPages } from '../web/operator/account-page.ts';
import { accountsPage } from '../web/operator/accounts-page.ts';
import { auditPage, refusalsPage } from '../web/operator/audit-page.ts';
import { categoriesPage, categoryPages } from '../web/operator/categories-page.ts';
import * as allKeys from '../web/operator/keys-page.ts';
import { messagePages, messagesPage } from '../web/operator/messages-page.ts';
import * as allWebhooks from '../web/operator/webhooks-page.ts';
import { workPage } from '../web/operator/work-page.ts';
import { holdPage } from '../web/orders/hold-page.ts';
import { ordersPage } from '../web/orders/list-page.ts';
import { orderPage } from '../web/orders/order-page.ts';
import { reservePage } from '../web/orders/reserve-page.ts';
import { organizationsPage } from '../web/organizations/list-page.ts';
import { organizationPage } from '../web/organizations/organization-page.ts';
import { ownOrganizationPage } from '../web/organizations/own-page.ts';
import type { WebPage } from '../web/page.ts';
import { invitationPage } from '../web/people/invitation-page.ts';
import { memberPage, removeMemberPage } from '../web/people/member-page.ts';
import { cancelInvitationPage, peoplePage, secondFactorRulePage } from '../web/people/people-page.ts';
import { switchAccountPage } from '../web/people/switch-page.ts';
import { animalPage } from '../web/pets/animal-page.ts';
import { bulkPage } from '../web/pets/bulk-page.ts';
import { cardPage } from '../web/pets/card-page.ts';
import { confirmMessagePage } from '../web/pets/confirm-page.ts';
import { deleteAnimalPage } from '../web/pets/deletion-page.ts';
import { newAnimalPage, ownAnimalPage } from '../web/pets/form-pages.ts';
import { animalHistoryPage } from '../web/pets/history-page.ts';
import { animalsPage } from '../web/pets/list-page.ts';
import { ownAnimalsPage } from '../web/pets/own-animals-page.ts';
import { petStatusPage } from '../web/pets/status-page.ts';
import { ownPhotoPages } from '../web/photos/own-photos.ts';
import {
  collectionPage,
  deprecation,
  endSandboxKeyPage,
  operationPage,
  referencePage,
  sandboxKeyPage,
} from '../web/reference/pages.ts';
import { searchPage } from '../web/search/search-page.ts';
import { robotsPage, sitemapDocumentationPage, sitemapPage, sitemapPartPage } from '../web/search/sitemap.ts';
import { securityTextPage } from '../web/security-text.ts';
import { linkPage } from '../web/sessions/link-page.ts';
import { endOtherSessionsPage, endSessionPage, sessionsPage } from '../web/sessions/list-page.ts';
import { forgotPasswordPage, passkeySignInPage, signInPage, signOutPage, signUpPage } from '../web/sessions/pages.ts';
import { secondFactorPage } from '../web/sessions/second-factor-page.ts';
import { securityPages } from '../web/sessions/security-pages.ts';
import { withTwin } from '../web/twins.ts';
import { requestPage, requestsPage } from '../web/usage/requests-page.ts';
import { usagePage } from '../web/usage/usage-page.ts';
import { webhookActions, webhookPage } from '../web/webhooks/actions.ts';
import { deliveryPage } from '../web/webhooks/deliveries.ts';
import { editWebhookPage, newWebhookPage, webhooksPage } from '../web/webhooks/pages.ts';

/** Every page with its Markdown twin, in the order of the menus. */
export const pages: readonly WebPage[] = [
  frontPage,
  animalsPage,
  animalPage,
  cardPage,
  confirmMessagePage,
  mailStopPage,
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
  secondFactorPage,
  passkeySignInPage,
  signUpPage,
  forgotPasswordPage,
  linkPage,
  invitationPage,
  signOutPage,
  account,
  changeName,
  changeOwnName,
  changeEmail,
  confirmAgain,
  changePassword,
  switchAccountPage,
  peoplePage,
  secondFactorRulePage,
  memberPage,
  removeMemberPage,
  cancelInvitationPage,
  ...securityPages,
  noticesPage,
  sessionsPage,
  endOtherSessionsPage,
  endSessionPage,
  planPage,
  dataPage,
  exportData,
  deleteAccount,
  cancelDeletion,
  homePage,
  ownAnimalsPage,
  bulkPage,
  petStatusPage,
  newAnimalPage,
  ownAnimalPage,
  deleteAnimalPage,
  animalHistoryPage,
  importsPage,
  importPage,
  cancelImportPage,
  importErrorsPage,
  inboxPage,
  blockedSendersPage,
  inboxMessagePage,
  ordersPage,
  orderPage,
  holdPage,
  reservePage,
  ownOrganizationPage,
  ...ownPhotoPages,
  keysPage,
  newKeyPage,
  keyPage,
  rotateKeyPage,
  revokeKeyPage,
  webhooksPage,
  newWebhookPage,
  webhookPage,
  editWebhookPage,
  deliveryPage,
  ...webhookActions,
  usagePage,
  requestsPage,
  requestPage,

  accountsPage,
  ...accountPages,
  allKeys.keysPage,
  ...allKeys.keyPages,
  categoriesPage,
  ...categoryPages,
  messagesPage,
  ...messagePages,
  allWebhooks.webhooksPage,
  workPage,
  auditPage,
  refusalsPage,

  errorCodes,
  errorCode,
  deprecation,
].flatMap(withTwin);
