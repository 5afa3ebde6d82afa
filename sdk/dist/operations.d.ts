import type { Call, Download, Lines, Pages } from './calls.js';
import type { EventStream } from './stream.js';
import type { RequestOptions } from './transport.js';
import type { Account, AddOrganizationPhotoQuery, AddPhotoQuery, AuditEntry, Category, CategoryAttributes, CategoryMerger, CategoryPatch, CreatePetQuery, CreatedWebhook, Delivery, ExportPetsAsCsvQuery, ExportPetsAsNdjsonQuery, Facets, FullPet, GetPetFacetsQuery, GetPetHistoryQuery, GetPetQuery, GetShelterAnimalsCountQuery, GetUsageQuery, Hold, HoldExtension, Import, ImportPetsQuery, Inventory, ListAuditEntriesQuery, ListCategoriesQuery, ListDeliveriesQuery, ListEventsQuery, ListHoldsQuery, ListImportsQuery, ListMessagesQuery, ListOrdersQuery, ListOrganizationsQuery, ListPetsQuery, ListRefusalsQuery, ListRequestsQuery, ListWebhooksQuery, LoggedRequest, Message, NewCategory, NewHold, NewMessage, NewOrder, NewOrderReturn, NewOrderStep, NewOrganization, NewPet, NewRedelivery, NewWebhook, Order, Organization, OrganizationPatch, Pet, PetHistoryEntry, PetPatch, PetstoreEvent, Photo, PhotoPatch, QueuedMessage, Redelivery, Refusal, RemovedPet, ReplacePetQuery, RotatedSecret, SecretRotation, ShelterStatistics, StreamEventsQuery, UpdatePetQuery, Usage, Webhook, WebhookPatch } from './types.js';
import type { FileSource } from './upload.js';
/**
 * Each operation: its name; a letter for its method, if that is not GET; its path after that of the group, with `:` for each
 * parameter; what it takes; and what it returns, if that is not JSON. It takes nothing (`-`), a query (`?`), a JSON body
 * (`=`) or a file of a type, the last two with query parameters among the options.
 */
export declare const operations = "\n/pets\nlistPets ?\ngetPetFacets /facets ?\ncreatePet O =?view\ngetPet /: ?\nupdatePet A /: =?view\nreplacePet U /: =?view\ndeletePet D /:\ngetPetHistory /:/history ?\naddPhoto O /:/photos image/jpeg?alt\nupdatePhoto A /:/photos/: =\ndeletePhoto D /:/photos/:\ngetPhotoOriginal /:/photos/:/original - file\n/exports\nexportPetsAsCsv /pets.csv ? file\nexportPetsAsNdjson /pets.ndjson ? file\n/imports\nimportPets O text/csv?mode,preset,dryRun,confirmRemovals,currency,dates\nlistImports ?\ngetImport /:\ngetImportErrors /:/errors - file\ncancelImport O /:/cancellation\n/statistics\ngetShelterAnimalsCount /shelter-animals-count ?\n/categories\nlistCategories ?\ncreateCategory O =\ngetCategory /:\ngetCategoryAttributes /:/attributes\nupdateCategory A /: =\ndeleteCategory D /:\nmergeCategory O /:/merge =\n/organizations\nlistOrganizations ?\ngetOrganization /:\nreplaceOrganization U /: =\nupdateOrganization A /: =\ndeleteOrganization D /:\naddOrganizationPhoto O /:/photos image/jpeg?alt\nupdateOrganizationPhoto A /:/photos/: =\ndeleteOrganizationPhoto D /:/photos/:\ngetOrganizationPhotoOriginal /:/photos/:/original - file\n/holds\nlistHolds ?\ncreateHold O =\ngetHold /:\nextendHold O /:/extension =\nreleaseHold O /:/release\n/store\nlistOrders /orders ?\nplaceOrder O /orders =\ngetOrder /orders/:\napproveOrder O /orders/:/approval =\ndeliverOrder O /orders/:/delivery =\ncancelOrder O /orders/:/cancellation =\nreturnOrder O /orders/:/return =\ngetInventory /inventory\n/events\nlistEvents ?\nstreamEvents /stream ? events\n/webhooks\ncreateWebhook O =\nlistWebhooks ?\ngetWebhook /:\nupdateWebhook A /: =\ndeleteWebhook D /:\nactivateWebhook O /:/activation\ndeactivateWebhook O /:/deactivation\nrotateWebhookSecret O /:/secrets =\ntestWebhook O /:/test\nlistDeliveries /:/deliveries ?\ngetDelivery /:/deliveries/:\nredeliverEvents O /:/redeliveries =\n/audit\nlistAuditEntries ?\nlistRefusals /refusals ?\n/account\ngetAccount\ngetUsage /usage ?\nlistRequests /requests ?\n/messages\nsendMessage O =\nlistMessages ?\ngetMessage /:\n";
/** The methods of a client: path parameters first, then the query, body or file, then the options of the call. */
export interface Operations {
    /** List all animals. Scope `pets:read`. */
    listPets(query: ListPetsQuery & {
        includeRemoved: true;
    }, options?: RequestOptions): Pages<FullPet | RemovedPet | Pet>;
    /** List all animals. Scope `pets:read`. */
    listPets(query: ListPetsQuery & {
        view: 'full';
    }, options?: RequestOptions): Pages<FullPet>;
    /** List all animals. Scope `pets:read`. */
    listPets(query?: ListPetsQuery, options?: RequestOptions): Pages<Pet>;
    /** Count the animals by traits. Scope `pets:read`. Beta. */
    getPetFacets(query?: GetPetFacetsQuery, options?: RequestOptions): Call<Facets>;
    /** Add an animal. Scope `pets:write`. */
    createPet(body: NewPet, options: RequestOptions & CreatePetQuery & {
        view: 'full';
    }): Call<FullPet>;
    /** Add an animal. Scope `pets:write`. */
    createPet(body: NewPet, options?: RequestOptions & CreatePetQuery): Call<Pet>;
    /** Get an animal. Scope `pets:read`. */
    getPet(petId: number, query: GetPetQuery & {
        view: 'full';
    }, options?: RequestOptions): Call<FullPet>;
    /** Get an animal. Scope `pets:read`. */
    getPet(petId: number, query?: GetPetQuery, options?: RequestOptions): Call<Pet>;
    /** Change an animal. Scope `pets:write`. */
    updatePet(petId: number, body: PetPatch, options: RequestOptions & UpdatePetQuery & {
        view: 'full';
    }): Call<FullPet>;
    /** Change an animal. Scope `pets:write`. */
    updatePet(petId: number, body: PetPatch, options?: RequestOptions & UpdatePetQuery): Call<Pet>;
    /** Replace an animal. Scope `pets:write`. */
    replacePet(petId: number, body: NewPet, options: RequestOptions & ReplacePetQuery & {
        view: 'full';
    }): Call<FullPet>;
    /** Replace an animal. Scope `pets:write`. */
    replacePet(petId: number, body: NewPet, options?: RequestOptions & ReplacePetQuery): Call<Pet>;
    /** Delete an animal. Scope `pets:write`. */
    deletePet(petId: number, options?: RequestOptions): Call<void>;
    /** Get the history of an animal. Scope `pets:read`. Beta. */
    getPetHistory(petId: number, query?: GetPetHistoryQuery, options?: RequestOptions): Pages<PetHistoryEntry>;
    /** Add a photo of an animal. Scope `pets:write`. Beta. */
    addPhoto(petId: number, file: FileSource, options?: RequestOptions & AddPhotoQuery): Call<Photo>;
    /** Change a photo of an animal. Scope `pets:write`. Beta. */
    updatePhoto(petId: number, photoId: string, body: PhotoPatch, options?: RequestOptions): Call<Photo>;
    /** Delete a photo of an animal. Scope `pets:write`. Beta. */
    deletePhoto(petId: number, photoId: string, options?: RequestOptions): Call<void>;
    /** Get the original of a photo of an animal. Scope `pets:read`. Beta. */
    getPhotoOriginal(petId: number, photoId: string, options?: RequestOptions): Download;
    /** Export animals as CSV. Scope `pets:read`. Beta. */
    exportPetsAsCsv(query?: ExportPetsAsCsvQuery, options?: RequestOptions): Download;
    /** Export animals as NDJSON. Scope `pets:read`. Beta. */
    exportPetsAsNdjson(query?: ExportPetsAsNdjsonQuery, options?: RequestOptions): Lines<Record<string, unknown>>;
    /** Import animals. Scope `pets:write`. Beta. */
    importPets(file: FileSource, options?: RequestOptions & ImportPetsQuery): Call<Import>;
    /** List imports. Scope `pets:write`. Beta. */
    listImports(query?: ListImportsQuery, options?: RequestOptions): Pages<Import>;
    /** Get an import. Scope `pets:write`. Beta. */
    getImport(importId: number, options?: RequestOptions): Call<Import>;
    /** Get the errors of an import. Scope `pets:write`. Beta. */
    getImportErrors(importId: number, options?: RequestOptions): Lines<Record<string, unknown>>;
    /** Cancel an import. Scope `pets:write`. Beta. */
    cancelImport(importId: number, options?: RequestOptions): Call<Import>;
    /** Count intakes and outcomes. Scope `pets:read`. Beta. */
    getShelterAnimalsCount(query?: GetShelterAnimalsCountQuery, options?: RequestOptions): Call<ShelterStatistics>;
    /** List all categories. Scope `pets:read`. */
    listCategories(query?: ListCategoriesQuery, options?: RequestOptions): Pages<Category>;
    /** Create a category. Scope `pets:write`. */
    createCategory(body: NewCategory, options?: RequestOptions): Call<Category>;
    /** Get a category. Scope `pets:read`. */
    getCategory(categoryId: number, options?: RequestOptions): Call<Category>;
    /** Get the values of a category. Scope `pets:read`. */
    getCategoryAttributes(categoryId: number, options?: RequestOptions): Call<CategoryAttributes>;
    /** Change a category. Scope `pets:write`. */
    updateCategory(categoryId: number, body: CategoryPatch, options?: RequestOptions): Call<Category>;
    /** Delete a category. Scope `pets:write`. */
    deleteCategory(categoryId: number, options?: RequestOptions): Call<void>;
    /** Merge a category into another. Scope `pets:write`. */
    mergeCategory(categoryId: number, body: CategoryMerger, options?: RequestOptions): Call<Category>;
    /** List organizations. Scope `pets:read`. */
    listOrganizations(query?: ListOrganizationsQuery, options?: RequestOptions): Pages<Organization>;
    /** Get an organization. Scope `pets:read`. */
    getOrganization(organizationId: number, options?: RequestOptions): Call<Organization>;
    /** Publish or replace an organization. Scope `organizations:write`. */
    replaceOrganization(organizationId: number, body: NewOrganization, options?: RequestOptions): Call<Organization>;
    /** Change an organization. Scope `organizations:write`. */
    updateOrganization(organizationId: number, body: OrganizationPatch, options?: RequestOptions): Call<Organization>;
    /** Delete an organization. Scope `organizations:write`. */
    deleteOrganization(organizationId: number, options?: RequestOptions): Call<void>;
    /** Add a photo of an organization. Scope `organizations:write`. Beta. */
    addOrganizationPhoto(organizationId: number, file: FileSource, options?: RequestOptions & AddOrganizationPhotoQuery): Call<Photo>;
    /** Change a photo of an organization. Scope `organizations:write`. Beta. */
    updateOrganizationPhoto(organizationId: number, photoId: string, body: PhotoPatch, options?: RequestOptions): Call<Photo>;
    /** Delete a photo of an organization. Scope `organizations:write`. Beta. */
    deleteOrganizationPhoto(organizationId: number, photoId: string, options?: RequestOptions): Call<void>;
    /** Get the original of a photo of an organization. Scope `pets:read`. Beta. */
    getOrganizationPhotoOriginal(organizationId: number, photoId: string, options?: RequestOptions): Download;
    /** List holds. Scope `orders:read`. */
    listHolds(query?: ListHoldsQuery, options?: RequestOptions): Pages<Hold>;
    /** Place a hold. Scope `orders:write`. */
    createHold(body: NewHold, options?: RequestOptions): Call<Hold>;
    /** Get a hold. Scope `orders:read`. */
    getHold(holdId: number, options?: RequestOptions): Call<Hold>;
    /** Change when a hold expires. Scope `orders:write`. */
    extendHold(holdId: number, body: HoldExtension, options?: RequestOptions): Call<Hold>;
    /** Release a hold. Scope `orders:write`. */
    releaseHold(holdId: number, options?: RequestOptions): Call<Hold>;
    /** List orders. Scope `orders:read`. */
    listOrders(query?: ListOrdersQuery, options?: RequestOptions): Pages<Order>;
    /** Order an animal. Scope `orders:write`. */
    placeOrder(body: NewOrder, options?: RequestOptions): Call<Order>;
    /** Get an order. Scope `orders:read`. */
    getOrder(orderId: number, options?: RequestOptions): Call<Order>;
    /** Approve an order. Scope `orders:write`. */
    approveOrder(orderId: number, body?: NewOrderStep, options?: RequestOptions): Call<Order>;
    /** Deliver an order. Scope `orders:write`. */
    deliverOrder(orderId: number, body?: NewOrderStep, options?: RequestOptions): Call<Order>;
    /** Cancel an order. Scope `orders:write`. */
    cancelOrder(orderId: number, body?: NewOrderStep, options?: RequestOptions): Call<Order>;
    /** Return an animal. Scope `orders:write`. */
    returnOrder(orderId: number, body?: NewOrderReturn, options?: RequestOptions): Call<Order>;
    /** Count the animals by status. Scope `pets:read`. */
    getInventory(options?: RequestOptions): Call<Inventory>;
    /** List events. Scope `events:read`. */
    listEvents(query?: ListEventsQuery, options?: RequestOptions): Pages<PetstoreEvent>;
    /** Stream events. Scope `events:read`. */
    streamEvents(query?: StreamEventsQuery, options?: RequestOptions): EventStream;
    /** Create a webhook. Scope `webhooks:write`. */
    createWebhook(body: NewWebhook, options?: RequestOptions): Call<CreatedWebhook>;
    /** List webhooks. Scope `webhooks:read`. */
    listWebhooks(query?: ListWebhooksQuery, options?: RequestOptions): Pages<Webhook>;
    /** Get a webhook. Scope `webhooks:read`. */
    getWebhook(webhookId: number, options?: RequestOptions): Call<Webhook>;
    /** Update a webhook. Scope `webhooks:write`. */
    updateWebhook(webhookId: number, body: WebhookPatch, options?: RequestOptions): Call<Webhook>;
    /** Delete a webhook. Scope `webhooks:write`. */
    deleteWebhook(webhookId: number, options?: RequestOptions): Call<void>;
    /** Activate a webhook. Scope `webhooks:write`. */
    activateWebhook(webhookId: number, options?: RequestOptions): Call<Webhook>;
    /** Deactivate a webhook. Scope `webhooks:write`. */
    deactivateWebhook(webhookId: number, options?: RequestOptions): Call<Webhook>;
    /** Rotate the secret of a webhook. Scope `webhooks:write`. */
    rotateWebhookSecret(webhookId: number, body?: SecretRotation, options?: RequestOptions): Call<RotatedSecret>;
    /** Test a webhook. Scope `webhooks:write`. */
    testWebhook(webhookId: number, options?: RequestOptions): Call<Delivery>;
    /** List deliveries. Scope `webhooks:read`. */
    listDeliveries(webhookId: number, query?: ListDeliveriesQuery, options?: RequestOptions): Pages<Delivery>;
    /** Get a delivery. Scope `webhooks:read`. */
    getDelivery(webhookId: number, deliveryId: number, options?: RequestOptions): Call<Delivery>;
    /** Deliver events again. Scope `webhooks:write`. */
    redeliverEvents(webhookId: number, body: NewRedelivery, options?: RequestOptions): Call<Redelivery>;
    /** List the audit log. Scope `audit:read`. Beta. */
    listAuditEntries(query?: ListAuditEntriesQuery, options?: RequestOptions): Pages<AuditEntry>;
    /** List refused requests. Scope `audit:read`. Beta. */
    listRefusals(query?: ListRefusalsQuery, options?: RequestOptions): Pages<Refusal>;
    /** Get your account. Scope `account:read`. Beta. */
    getAccount(options?: RequestOptions): Call<Account>;
    /** Get your usage. Scope `account:read`. */
    getUsage(query?: GetUsageQuery, options?: RequestOptions): Call<Usage>;
    /** List your requests. Scope `account:read`. Beta. */
    listRequests(query?: ListRequestsQuery, options?: RequestOptions): Pages<LoggedRequest>;
    /** Send a message. Scope `messages:write`. */
    sendMessage(body: NewMessage, options?: RequestOptions): Call<QueuedMessage>;
    /** List messages. Scope `messages:read`. */
    listMessages(query?: ListMessagesQuery, options?: RequestOptions): Pages<Message>;
    /** Get a message. Scope `messages:read`. */
    getMessage(messageId: string, options?: RequestOptions): Call<Message>;
}
