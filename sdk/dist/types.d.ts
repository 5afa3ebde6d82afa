/** The codes of errors. */
export type ErrorCode = 'malformed_request' | 'invalid_parameter' | 'invalid_content_type' | 'invalid_json' | 'invalid_body' | 'invalid_import' | 'invalid_photo' | 'category_not_found' | 'missing_api_key' | 'malformed_api_key' | 'invalid_api_key' | 'expired_api_key' | 'revoked_api_key' | 'wrong_deployment' | 'insufficient_scope' | 'account_suspended' | 'address_not_allowed' | 'origin_not_allowed' | 'not_in_sandbox' | 'not_owner' | 'pet_not_found' | 'photo_not_found' | 'no_such_category' | 'organization_not_found' | 'import_not_found' | 'hold_not_found' | 'order_not_found' | 'message_not_found' | 'event_not_found' | 'webhook_not_found' | 'delivery_not_found' | 'route_not_found' | 'method_not_allowed' | 'request_timeout' | 'pet_reserved' | 'bonded_animals' | 'invalid_status_transition' | 'import_running' | 'import_limit_exceeded' | 'event_storage_exceeded' | 'import_canceled' | 'category_in_use' | 'external_id_taken' | 'pet_limit_exceeded' | 'sandbox_pet_limit_exceeded' | 'sandbox_storage_exceeded' | 'photo_limit_exceeded' | 'photo_storage_exceeded' | 'category_slug_taken' | 'category_cycle' | 'hold_ended' | 'hold_limit_exceeded' | 'order_limit_exceeded' | 'export_limit_exceeded' | 'stream_limit_exceeded' | 'category_limit_exceeded' | 'webhook_limit_exceeded' | 'webhook_test_failed' | 'webhook_test_running' | 'webhook_not_active' | 'message_limit_exceeded' | 'reply_limit_exceeded' | 'reply_not_possible' | 'note_limit_exceeded' | 'storage_limit_exceeded' | 'webhook_secret_limit_exceeded' | 'delivery_limit_exceeded' | 'redelivery_running' | 'invalid_order_transition' | 'idempotency_key_in_use' | 'operation_removed' | 'sync_token_expired' | 'events_expired' | 'precondition_failed' | 'body_too_large' | 'expectation_failed' | 'idempotency_key_reused' | 'precondition_required' | 'rate_limit_exceeded' | 'sandbox_rate_limit_exceeded' | 'api_key_banned' | 'headers_too_large' | 'internal_error' | 'storage_full' | 'storage_unavailable' | 'overloaded' | 'search_not_ready' | 'shutting_down';
/** One value, or any of several. */
export type OneOrMore<T> = T | readonly T[];
/** The parameters of `listPets`. */
export interface ListPetsQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** Only animals that match each of these words: it begins a word of the name, the breeds, the colors, the tags, or the names of the category and those above it, or is the sex, the age, the size or a trait that is `yes`. */
    q?: string | undefined;
    /** Only animals with one of these statuses. */
    status?: OneOrMore<PetStatus> | undefined;
    /** Only the animals with these ids, up to 100. */
    id?: OneOrMore<number> | undefined;
    /** Only the animals of this category. */
    categoryId?: number | undefined;
    /** With `categoryId`: includes the descendants of that category. */
    includeDescendants?: boolean | undefined;
    /** `me`: only the animals of your account. */
    owner?: 'me' | undefined;
    /** Only the animal of your account with this `externalId`. */
    externalId?: string | undefined;
    /** Only the animals of these organizations, up to 50. */
    organizationId?: OneOrMore<number> | undefined;
    /** Only animals whose organization is within a distance of a point: `latitude,longitude` in degrees, a postal code, or a city of the United States or Canada. */
    near?: string | undefined;
    /** With `near`: the distance, in kilometers (`km`) or miles (`mi`); 100km without it. */
    within?: string | undefined;
    /** Only the animals that changed since this point, each once, in the order of their last changes: an RFC 3339 time, or the `X-Sync-Token` of an earlier list, which is complete and valid for 30 days. */
    updatedSince?: string | undefined;
    /** With `updatedSince`: includes deleted animals, as `RemovedPet`. */
    includeRemoved?: boolean | undefined;
    /** The order: by id, or by name (by code point, then by id); a minus sign reverses it. */
    sort?: 'id' | '-id' | 'name' | '-name' | 'recent' | 'random' | 'distance' | 'relevance' | undefined;
    /** `full` adds every other field, such as the price, the owner, the times and the entity tag. */
    view?: 'plain' | 'full' | undefined;
    /** Only animals of this sex. */
    sex?: OneOrMore<Sex> | undefined;
    /** Only animals of this age. */
    age?: OneOrMore<Age> | undefined;
    /** Only animals of this size. */
    size?: OneOrMore<Size> | undefined;
    /** Only animals with this coat. */
    coat?: OneOrMore<Coat> | undefined;
    /** Whom the animal gets along with. Whether it gets along with children. Only animals with one of these values. */
    goodWithChildren?: OneOrMore<YesNoUnknown> | undefined;
    /** Whom the animal gets along with. Whether it gets along with other dogs. Only animals with one of these values. */
    goodWithDogs?: OneOrMore<YesNoUnknown> | undefined;
    /** Whom the animal gets along with. Whether it gets along with other cats. Only animals with one of these values. */
    goodWithCats?: OneOrMore<YesNoUnknown> | undefined;
    /** Whom the animal gets along with. Whether it gets along with elderly people. */
    goodWithElderly?: OneOrMore<YesNoUnknown> | undefined;
    /** Whom the animal gets along with. Whether it gets along with farm animals. */
    goodWithFarmAnimals?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether it is house-trained. Only animals with one of these values. */
    houseTrained?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether it is crate-trained. Only animals with one of these values. */
    crateTrained?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether it walks on a leash. Only animals with one of these values. */
    leashTrained?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether it is spayed or neutered. Only animals with one of these values. */
    spayedNeutered?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether its vaccinations are up to date. Only animals with one of these values. */
    vaccinated?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether it is declawed. Only animals with one of these values. */
    declawed?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether it has special needs. Only animals with one of these values. */
    specialNeeds?: OneOrMore<YesNoUnknown> | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** The parameters of `getPetFacets`. */
export interface GetPetFacetsQuery {
    /** Only animals that match each of these words: it begins a word of the name, the breeds, the colors, the tags, or the names of the category and those above it, or is the sex, the age, the size or a trait that is `yes`. */
    q?: string | undefined;
    /** Only animals with one of these statuses. */
    status?: OneOrMore<PetStatus> | undefined;
    /** Only the animals of this category. */
    categoryId?: number | undefined;
    /** With `categoryId`: includes the descendants of that category. */
    includeDescendants?: boolean | undefined;
    /** `me`: only the animals of your account. */
    owner?: 'me' | undefined;
    /** Only the animals of these organizations, up to 50. */
    organizationId?: OneOrMore<number> | undefined;
    /** Only animals whose organization is within a distance of a point: `latitude,longitude` in degrees, a postal code, or a city of the United States or Canada. */
    near?: string | undefined;
    /** With `near`: the distance, in kilometers (`km`) or miles (`mi`); 100km without it. */
    within?: string | undefined;
    /** Only animals of this sex. */
    sex?: OneOrMore<Sex> | undefined;
    /** Only animals of this age. */
    age?: OneOrMore<Age> | undefined;
    /** Only animals of this size. */
    size?: OneOrMore<Size> | undefined;
    /** Only animals with this coat. */
    coat?: OneOrMore<Coat> | undefined;
    /** Whom the animal gets along with. Whether it gets along with children. Only animals with one of these values. */
    goodWithChildren?: OneOrMore<YesNoUnknown> | undefined;
    /** Whom the animal gets along with. Whether it gets along with other dogs. Only animals with one of these values. */
    goodWithDogs?: OneOrMore<YesNoUnknown> | undefined;
    /** Whom the animal gets along with. Whether it gets along with other cats. Only animals with one of these values. */
    goodWithCats?: OneOrMore<YesNoUnknown> | undefined;
    /** Whom the animal gets along with. Whether it gets along with elderly people. */
    goodWithElderly?: OneOrMore<YesNoUnknown> | undefined;
    /** Whom the animal gets along with. Whether it gets along with farm animals. */
    goodWithFarmAnimals?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether it is house-trained. Only animals with one of these values. */
    houseTrained?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether it is crate-trained. Only animals with one of these values. */
    crateTrained?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether it walks on a leash. Only animals with one of these values. */
    leashTrained?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether it is spayed or neutered. Only animals with one of these values. */
    spayedNeutered?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether its vaccinations are up to date. Only animals with one of these values. */
    vaccinated?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether it is declawed. Only animals with one of these values. */
    declawed?: OneOrMore<YesNoUnknown> | undefined;
    /** Training and health. Whether it has special needs. Only animals with one of these values. */
    specialNeeds?: OneOrMore<YesNoUnknown> | undefined;
}
/** The parameters of `createPet`. */
export interface CreatePetQuery {
    /** `full` adds every other field, such as the price, the owner, the times and the entity tag. */
    view?: 'plain' | 'full' | undefined;
}
/** The parameters of `getPet`. */
export interface GetPetQuery {
    /** `full` adds every other field, such as the price, the owner, the times and the entity tag. */
    view?: 'plain' | 'full' | undefined;
}
/** The parameters of `updatePet`. */
export interface UpdatePetQuery {
    /** `full` adds every other field, such as the price, the owner, the times and the entity tag. */
    view?: 'plain' | 'full' | undefined;
}
/** The parameters of `replacePet`. */
export interface ReplacePetQuery {
    /** `full` adds every other field, such as the price, the owner, the times and the entity tag. */
    view?: 'plain' | 'full' | undefined;
}
/** The parameters of `getPetHistory`. */
export interface GetPetHistoryQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** The parameters of `addPhoto`. */
export interface AddPhotoQuery {
    /** What the photo shows, for people who do not see it: 1–500 characters, no control characters. */
    alt?: string | undefined;
}
/** The parameters of `exportPetsAsCsv`. */
export interface ExportPetsAsCsvQuery {
    /** The columns: `petstore` has every field that you can write, `petfinder` the columns of a Petfinder import, `asm3` the columns of a CSV import of Animal Shelter Manager, and `adoptapet` and `rescuegroups` the columns that Animal Shelter Manager sends to these sites. */
    preset?: 'petstore' | 'petfinder' | 'asm3' | 'adoptapet' | 'rescuegroups' | 'rescuegroups-import' | undefined;
}
/** The parameters of `exportPetsAsNdjson`. */
export interface ExportPetsAsNdjsonQuery {
    /** The columns: `petstore` has every field that you can write, `petfinder` the columns of a Petfinder import, `asm3` the columns of a CSV import of Animal Shelter Manager, and `adoptapet` and `rescuegroups` the columns that Animal Shelter Manager sends to these sites. */
    preset?: 'petstore' | 'petfinder' | 'asm3' | 'adoptapet' | 'rescuegroups' | 'rescuegroups-import' | undefined;
}
/** The parameters of `importPets`. */
export interface ImportPetsQuery {
    /** `upsert` adds and changes the animals of the file. */
    mode?: 'upsert' | 'replace' | undefined;
    /** The columns of the file: the same as in an export with this preset, in any order; columns may be absent. */
    preset?: 'petstore' | 'petfinder' | 'asm3' | 'adoptapet' | 'rescuegroups' | 'rescuegroups-import' | undefined;
    /** Whether to change nothing, and only count what would be changed. */
    dryRun?: boolean | undefined;
    /** The number of animals that `replace` may delete; required if they are more than 20 %. */
    confirmRemovals?: number | undefined;
    /** The currency (ISO 4217) of fees in columns of other programs. */
    currency?: string | undefined;
    /** The order of the month, the day and the year in dates such as 5/1/2024. */
    dates?: 'mdy' | 'dmy' | 'ymd' | undefined;
}
/** The parameters of `listImports`. */
export interface ListImportsQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** The parameters of `getShelterAnimalsCount`. */
export interface GetShelterAnimalsCountQuery {
    /** The month, in UTC. The default is the last complete month. */
    month?: string | undefined;
}
/** The parameters of `listCategories`. */
export interface ListCategoriesQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** Only direct children of this category. */
    parentId?: number | undefined;
    /** `true`: only placeholders (created because an animal used an unknown category id). */
    placeholder?: boolean | undefined;
    /** Only the category with this slug. */
    slug?: string | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** The parameters of `listOrganizations`. */
export interface ListOrganizationsQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** Only names that begin with this text; case and accents do not matter. */
    name?: string | undefined;
    /** Only organizations of this country: its ISO 3166-1 alpha-2 code. */
    country?: string | undefined;
    /** Only organizations of this state, written as in their addresses. */
    state?: string | undefined;
    /** The order: by id, or by name (without case and accents, then by id); a minus sign reverses it. */
    sort?: 'id' | '-id' | 'name' | '-name' | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** The parameters of `addOrganizationPhoto`. */
export interface AddOrganizationPhotoQuery {
    /** What the photo shows, for people who do not see it: 1–500 characters, no control characters. */
    alt?: string | undefined;
}
/** The parameters of `listHolds`. */
export interface ListHoldsQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** Only holds with one of these statuses. */
    status?: OneOrMore<HoldStatus> | undefined;
    /** Only holds of this animal, past ones included. */
    petId?: number | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** The parameters of `listOrders`. */
export interface ListOrdersQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** Only orders with one of these statuses. */
    status?: OneOrMore<OrderStatus> | undefined;
    /** Only orders of this animal. */
    petId?: number | undefined;
    /** Only orders that your account placed (`placer`), or only orders of its animals (`owner`). */
    role?: 'placer' | 'owner' | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** The parameters of `listEvents`. */
export interface ListEventsQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** Returns only events of these types. `pet.*` selects all types of one kind. */
    types?: OneOrMore<EventFilter> | undefined;
    /** Returns only events after this one: an event `id`, or an `X-Sync-Token`. */
    after?: string | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** The parameters of `streamEvents`. */
export interface StreamEventsQuery {
    /** Returns only events of these types. `pet.*` selects all types of one kind. */
    types?: OneOrMore<EventFilter> | undefined;
    /** Returns only events after this one: an event `id`, or an `X-Sync-Token`. */
    after?: string | undefined;
}
/** The parameters of `listWebhooks`. */
export interface ListWebhooksQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** The parameters of `listDeliveries`. */
export interface ListDeliveriesQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** `pending`: not delivered yet. `delivered`: the receiver responded with 200–299. */
    status?: DeliveryStatus | undefined;
    /** Only the deliveries of this event. */
    eventId?: string | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** The parameters of `listAuditEntries`. */
export interface ListAuditEntriesQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** Only changes of these event types. `pet.*` selects all types of one kind. */
    types?: OneOrMore<EventFilter> | undefined;
    /** Only changes of this resource: its kind and id. */
    resource?: string | undefined;
    /** Only changes that were made with this API key. */
    keyId?: string | undefined;
    /** Only changes of the request with this `X-Request-Id`. */
    requestId?: string | undefined;
    /** Only changes that were requested from this IP address. */
    address?: string | undefined;
    /** Only changes at this time or later. */
    since?: string | undefined;
    /** Only changes before this time. */
    until?: string | undefined;
    /** For admins: only the entries of this account. */
    accountId?: number | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** The parameters of `listRefusals`. */
export interface ListRefusalsQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** Only requests with this API key. */
    keyId?: string | undefined;
    /** Only requests that were refused with this error code. */
    code?: string | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** The parameters of `getUsage`. */
export interface GetUsageQuery {
    /** The length of a bucket. */
    interval?: 'hour' | 'day' | undefined;
    /** The beginning of the range, rounded down to an hour or day. */
    from?: string | undefined;
    /** The end of the range, rounded up to an hour or day. */
    to?: string | undefined;
    /** Only requests with this API key. */
    keyId?: string | undefined;
}
/** The parameters of `listRequests`. */
export interface ListRequestsQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** Only the request with this `X-Request-Id`. */
    requestId?: string | undefined;
    /** Only responses with this status, or with a status of this class. */
    status?: string | undefined;
    /** Only requests of this operation. */
    operation?: string | undefined;
    /** Only requests with this API key. */
    keyId?: string | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** The parameters of `listMessages`. */
export interface ListMessagesQuery {
    /** Maximum number of items returned. */
    limit?: number | undefined;
    /** Messages sent, or messages in the inbox. */
    box?: 'sent' | 'inbox' | undefined;
    /** The position to continue from, taken from a `Link` header; empty for the first page. */
    cursor?: string | undefined;
}
/** A test of a webhook. */
export interface WebhookTestEvent {
    /** No event has this type. */
    type: 'webhook.test';
    /** When the test was sent. */
    timestamp: string;
    /** The same. */
    time: string;
    /** Identifies the test. */
    id: string;
    data: {
        /** Assigned by the service. */
        id: number;
    };
}
/** An animal with all its fields. */
export interface FullPet {
    /** Assigned by the service on creation. */
    id: number;
    /** The animal’s name. */
    name: string;
    /** Identifier of the category the animal belongs to. */
    categoryId: number;
    status: PetStatus;
    /** The reason for the status, in the shelter’s words: in foster, medical, adopted. A new status clears it. */
    statusReason?: string;
    price?: Price;
    /** Your own identifier of the animal, unique within the account. */
    externalId?: string;
    breeds?: Breeds;
    colors?: Colors;
    /** The pattern of the coat: brindle, tabby. */
    pattern?: string;
    coat?: Coat;
    sex?: Sex;
    /** The date of birth. Not in the future. */
    birthDate?: string;
    /** Whether the date of birth is exact or estimated. */
    birthDatePrecision?: 'exact' | 'estimated';
    age?: Age;
    size?: Size;
    weight?: Weight;
    goodWith?: GoodWith;
    traits?: Traits;
    /** The energy level, from 1 (calm) to 5 (very active). */
    energy?: number;
    group?: ShownGroup;
    tags?: Tags;
    videos?: Videos;
    /** What the special needs are. */
    specialNeedsNotes?: string;
    microchips?: Microchips;
    /** The tattoo. Only the owner of the animal sees it. */
    tattoo?: string;
    /** Where in the shelter the animal is, such as a room and a kennel. Only the owner of the animal sees it. */
    shelterLocation?: string;
    intake?: Intake;
    outcome?: Outcome;
    extra?: Extra;
    /** What people should know about the animal, stored as sent: 1–10,000 characters, which may include line breaks. */
    description?: string;
    /** The photos of the animal, the main one first. */
    photos?: Photo[];
    /** The account that the animal belongs to. */
    accountId: number;
    /** When the animal was added. */
    createdAt: string;
    /** When the animal last changed. */
    updatedAt: string;
    /** The entity tag of the animal, to send in `If-Match`. */
    etag: string;
    distance?: Distance;
    /** Only in the response to a change: warnings about unknown values. */
    warnings?: Warning[];
}
/** A deleted animal, with its last values and without a status. */
export interface RemovedPet {
    /** Assigned by the service on creation. */
    id: number;
    /** The animal’s name. */
    name: string;
    /** Identifier of the category the animal belongs to. */
    categoryId: number;
    status?: PetStatus;
    /** When the animal was deleted. */
    deletedAt: string;
}
/** An animal. */
export interface Pet {
    /** Assigned by the service on creation. */
    id: number;
    /** The animal’s name. */
    name: string;
    /** Identifier of the category the animal belongs to. */
    categoryId: number;
    status?: PetStatus;
}
/** Numbers of animals by trait and value. */
export interface Facets {
    /** Whether all matching animals were counted. */
    exact: boolean;
    /** The number of animals by value, for each of `sex`, `age`, `size`, `coat`, `goodWithChildren`, `goodWithDogs`, `goodWithCats`, `goodWithElderly`, `goodWithFarmAnimals`, `houseTrained`, `crateTrained`, `leashTrained`, `spayedNeutered`, `vaccinated`, `declawed`, `specialNeeds`. */
    facets: Record<string, Record<string, number>>;
}
/** An animal to add. */
export interface NewPet {
    /** The animal’s name, stored as sent: 1–255 characters, at least one of them not white space, no control characters. */
    name: string;
    /** Identifier of the category the animal belongs to. */
    categoryId: number;
    status?: PetStatus;
    /** The reason for the status, in the shelter’s words: in foster, medical, adopted. A new status clears it. */
    statusReason?: string;
    price?: Price;
    /** Your own identifier of the animal, unique within the account. */
    externalId?: string;
    breeds?: Breeds;
    colors?: Colors;
    /** The pattern of the coat: brindle, tabby. */
    pattern?: string;
    coat?: Coat;
    sex?: Sex;
    /** The date of birth. Not in the future. */
    birthDate?: string;
    /** Whether the date of birth is exact or estimated. */
    birthDatePrecision?: 'exact' | 'estimated';
    age?: Age;
    size?: Size;
    weight?: Weight;
    goodWith?: GoodWith;
    traits?: Traits;
    /** The energy level, from 1 (calm) to 5 (very active). */
    energy?: number;
    group?: Group;
    tags?: Tags;
    videos?: Videos;
    /** What the special needs are. */
    specialNeedsNotes?: string;
    microchips?: Microchips;
    /** The tattoo. Only the owner of the animal sees it. */
    tattoo?: string;
    /** Where in the shelter the animal is, such as a room and a kennel. Only the owner of the animal sees it. */
    shelterLocation?: string;
    intake?: Intake;
    outcome?: Outcome;
    extra?: Extra;
    /** What people should know about the animal, stored as sent: 1–10,000 characters, which may include line breaks. */
    description?: string;
}
/** The fields to change; `null` removes an optional field. */
export interface PetPatch {
    /** The animal’s name, stored as sent: 1–255 characters, at least one of them not white space, no control characters. */
    name?: string;
    /** Identifier of the category the animal belongs to. */
    categoryId?: number;
    status?: PetStatus;
    statusReason?: string | null;
    price?: PricePatch | null;
    externalId?: string | null;
    breeds?: BreedsPatch | null;
    colors?: ColorsPatch | null;
    pattern?: string | null;
    coat?: Coat | null;
    sex?: Sex | null;
    birthDate?: string | null;
    birthDatePrecision?: 'exact' | 'estimated' | null;
    age?: Age | null;
    size?: Size | null;
    weight?: WeightPatch | null;
    goodWith?: GoodWithPatch | null;
    traits?: TraitsPatch | null;
    energy?: number | null;
    group?: GroupPatch | null;
    tags?: Tags | null;
    videos?: Videos | null;
    specialNeedsNotes?: string | null;
    microchips?: Microchips | null;
    tattoo?: string | null;
    shelterLocation?: string | null;
    intake?: IntakePatch | null;
    outcome?: OutcomePatch | null;
    extra?: ExtraPatch | null;
    description?: string | null;
}
/** A change of an animal. */
export interface PetHistoryEntry {
    /** Increases with every entry of the same animal. */
    id: number;
    /** When the change happened. */
    at: string;
    /** The kind of change. */
    type: 'created' | 'updated' | 'deleted';
    /** Why the service changed the animal; absent if its owner changed it. */
    reason?: 'held' | 'hold_released' | 'hold_expired' | 'order_placed' | 'order_cancelled' | 'order_expired' | 'order_delivered' | 'order_returned' | 'category_merged' | 'transferred' | string;
    /** The fields that changed, each with its value before (`from`) and after (`to`) the change. */
    changes?: {
        name?: {
            /** The animal’s name. */
            from?: string;
            /** The animal’s name. */
            to?: string;
        };
        categoryId?: {
            /** Identifier of the category the animal belongs to. */
            from?: number;
            /** Identifier of the category the animal belongs to. */
            to?: number;
        };
        status?: {
            from?: PetStatus;
            to?: PetStatus;
        };
        statusReason?: {
            /** The reason for the status, in the shelter’s words: in foster, medical, adopted. A new status clears it. */
            from?: string;
            /** The reason for the status, in the shelter’s words: in foster, medical, adopted. A new status clears it. */
            to?: string;
        };
        price?: {
            from?: Price;
            to?: Price;
        };
        externalId?: {
            /** Your own identifier of the animal, unique within the account. */
            from?: string;
            /** Your own identifier of the animal, unique within the account. */
            to?: string;
        };
        breeds?: {
            from?: Breeds;
            to?: Breeds;
        };
        colors?: {
            from?: Colors;
            to?: Colors;
        };
        pattern?: {
            /** The pattern of the coat: brindle, tabby. */
            from?: string;
            /** The pattern of the coat: brindle, tabby. */
            to?: string;
        };
        coat?: {
            from?: Coat;
            to?: Coat;
        };
        sex?: {
            from?: Sex;
            to?: Sex;
        };
        birthDate?: {
            /** The date of birth. Not in the future. */
            from?: string;
            /** The date of birth. Not in the future. */
            to?: string;
        };
        birthDatePrecision?: {
            /** Whether the date of birth is exact or estimated. */
            from?: 'exact' | 'estimated';
            /** Whether the date of birth is exact or estimated. */
            to?: 'exact' | 'estimated';
        };
        age?: {
            from?: Age;
            to?: Age;
        };
        size?: {
            from?: Size;
            to?: Size;
        };
        weight?: {
            from?: Weight;
            to?: Weight;
        };
        goodWith?: {
            from?: GoodWith;
            to?: GoodWith;
        };
        traits?: {
            from?: Traits;
            to?: Traits;
        };
        energy?: {
            /** The energy level, from 1 (calm) to 5 (very active). */
            from?: number;
            /** The energy level, from 1 (calm) to 5 (very active). */
            to?: number;
        };
        group?: {
            from?: ShownGroup;
            to?: ShownGroup;
        };
        tags?: {
            from?: Tags;
            to?: Tags;
        };
        videos?: {
            from?: Videos;
            to?: Videos;
        };
        specialNeedsNotes?: {
            /** What the special needs are. */
            from?: string;
            /** What the special needs are. */
            to?: string;
        };
        microchips?: {
            from?: Microchips;
            to?: Microchips;
        };
        tattoo?: {
            /** The tattoo. Only the owner of the animal sees it. */
            from?: string;
            /** The tattoo. Only the owner of the animal sees it. */
            to?: string;
        };
        shelterLocation?: {
            /** Where in the shelter the animal is, such as a room and a kennel. Only the owner of the animal sees it. */
            from?: string;
            /** Where in the shelter the animal is, such as a room and a kennel. Only the owner of the animal sees it. */
            to?: string;
        };
        intake?: {
            from?: Intake;
            to?: Intake;
        };
        outcome?: {
            from?: Outcome;
            to?: Outcome;
        };
        extra?: {
            from?: Extra;
            to?: Extra;
        };
        description?: {
            /** What people should know about the animal, stored as sent: 1–10,000 characters, which may include line breaks. */
            from?: string;
            /** What people should know about the animal, stored as sent: 1–10,000 characters, which may include line breaks. */
            to?: string;
        };
        photos?: {
            /** The photos of the animal, the main one first. */
            from?: Photo[];
            /** The photos of the animal, the main one first. */
            to?: Photo[];
        };
    };
    /** The account that made the change. */
    accountId?: number;
    /** The hold that caused the change. */
    holdId?: number;
    /** The order that caused the change. */
    orderId?: number;
}
/** A photo. The sizes have no metadata; only the original may have. */
export interface Photo {
    /** The SHA-256 of the original, in hexadecimal digits. */
    id: string;
    /** What the photo shows, for people who do not see it: 1–500 characters, no control characters. */
    alt?: string;
    /** The width of the original in pixels, when it is shown upright. */
    width: number;
    /** The height of the original in pixels, when it is shown upright. */
    height: number;
    /** The size of the original. */
    bytes: number;
    urls?: PhotoUrls;
}
export interface PhotoPatch {
    alt?: string | null;
    /** The new position among the photos; 1 makes it the main photo. */
    position?: number;
}
/** An import of a file of animals, and its progress. */
export interface Import {
    /** The id of the import, assigned by the service. */
    id: number;
    /** `receiving` while the file arrives, `running`, then `completed`, `failed` or `canceled`. */
    state: 'receiving' | 'running' | 'paused' | 'completed' | 'failed' | 'canceled' | string;
    /** The mode. More values may be added: ignore unknown ones. */
    mode: 'upsert' | 'replace' | string;
    /** The columns of the file. More values may be added: ignore unknown ones. */
    preset: 'petstore' | 'petfinder' | 'asm3' | 'adoptapet' | 'rescuegroups' | 'rescuegroups-import' | string;
    /** The format of the file. More values may be added: ignore unknown ones. */
    format: 'csv' | 'ndjson' | string;
    /** The order of the month, the day and the year in dates: as sent, or as recognized when the file had arrived. */
    dates?: 'mdy' | 'dmy' | 'ymd' | string;
    /** Whether the import changes nothing: its numbers are those that the import would have. */
    dryRun: boolean;
    /** The rows of the file that have arrived, without the names of the columns. */
    rows: number;
    /** The rows that are done. */
    rowsRead: number;
    /** The animals that were added. */
    created: number;
    /** The animals that were changed. */
    updated: number;
    /** The rows that changed nothing. */
    unchanged: number;
    /** The rows with an error, and the animals that could not be deleted. */
    failed: number;
    /** The animals that were deleted. */
    removed: number;
    /** The warnings: what the import ignored, and values that are not known. */
    warnings: number;
    /** The photos to fetch, which the animals lack. */
    photosWanted: number;
    /** The photos that were fetched. */
    photosFetched: number;
    /** The photos that could not be fetched, or have an invalid URL. */
    photosFailed: number;
    /** What the import counts against `importedRows` of the account; absent in a dry run. */
    budget?: {
        /** The UTC day that the import counts for. */
        day: string;
        /** The rows that count: all rows of the file until they are done, then the rows that changed an animal. */
        charged: number;
        /** The rows that all imports of the account can change on a day. */
        maximum: number;
    };
    /** What `replace` deletes; absent until that is known. */
    removals?: {
        /** Your animals that the file lacks. */
        count: number;
        /** Your animals when the import began. */
        of: number;
        /** Whether these are more than 20 % of your animals. */
        needConfirmation: boolean;
    };
    /** Why the import failed; absent unless the import failed. */
    error?: {
        code: string;
        message: string;
    };
    /** The first 20 errors and warnings; only of a single import. */
    firstErrors?: ImportError[];
    /** When the file began to arrive. */
    createdAt: string;
    /** When the file had arrived. */
    startedAt?: string;
    /** When the import continues, because the ban of its API key ends; absent unless it is `paused`. */
    pausedUntil?: string;
    /** When the import ended. */
    endedAt?: string;
}
/** A month in the terms of Shelter Animals Count. */
export interface ShelterStatistics {
    /** The month, in UTC. */
    month: string;
    /** The first day of the month. */
    beginDate: string;
    /** The last day of the month. */
    endDate: string;
    /** The species with animals in care, intakes or outcomes. */
    species: {
        /** The species, by the top-level category. */
        species: 'canine' | 'feline' | 'rabbit' | 'small_mammal' | 'equine' | 'bird' | 'reptile_or_amphibian' | 'farm_animal' | 'other';
        /** The animals in care before the first day, and after the last day. */
        animalCounts: {
            /** Animals. */
            beginning: number;
            /** Animals. */
            ending: number;
        };
        /** The three groups of ages. */
        ages: ShelterMovements[];
    }[];
}
/** A category of animals, in a tree of categories. */
export interface Category {
    /** Assigned by the service, or chosen by the animal that first named the category. */
    id: number;
    /** The category’s name. */
    name: string;
    /** A unique short name for URLs: lower-case letters and digits with single hyphens. */
    slug: string;
    /** The parent category; absent at the top level. The tree has at most ten levels. */
    parentId?: number;
    /** Whether the category is a placeholder: an animal created it by naming its id, and nobody has given it a name yet. */
    placeholder: boolean;
    /** When it was created; absent for built-in categories. */
    createdAt?: string;
    /** When it last changed; absent if it never did. */
    updatedAt?: string;
}
/** A category to create. */
export interface NewCategory {
    /** The category’s name, stored as sent: 1–255 characters, at least one of them not white space, no control characters. */
    name: string;
    /** A unique short name for URLs: lower-case letters and digits with single hyphens. */
    slug?: string;
    /** The parent category; absent at the top level. The tree has at most ten levels. */
    parentId?: number;
    /** Up to 200 breeds that the category adds to the known breeds of its animals; the attributes of the category list all of them. */
    breeds?: string[];
    /** Up to 200 colors that the category adds to the known colors of its animals; the attributes of the category list all of them. */
    colors?: string[];
}
/** The values of the profile of the animals of a category. */
export interface CategoryAttributes {
    /** The top-level category that this category belongs to. */
    rootId: number;
    /** Known breeds. A pet can have another breed. */
    breeds: string[];
    /** Known colors. A pet can have another color. */
    colors: string[];
    /** Usual coats. */
    coats: string[];
    /** Every value of `sex`. */
    sexes: string[];
    /** Every value of `age`, from the youngest. */
    ages: string[];
    /** Every value of `size`, from the smallest. */
    sizes: string[];
    /** Every value of `energy`, from calm to very active. */
    energies: number[];
    /** The members of `goodWith`. */
    goodWith: string[];
    /** The members of `traits`. */
    traits: string[];
    /** Every value of the members of `goodWith` and `traits`. */
    answers: string[];
    /** Every value of `kind` of an `intake`. */
    intakeKinds: string[];
    /** Every value of `kind` of an `outcome`. */
    outcomeKinds: string[];
    /** Every value of `kind` of a `group`. */
    groupKinds: string[];
}
/** The fields to change; `null` removes an optional field. */
export interface CategoryPatch {
    /** The category’s name, stored as sent: 1–255 characters, at least one of them not white space, no control characters. */
    name?: string;
    /** A unique short name for URLs: lower-case letters and digits with single hyphens. */
    slug?: string;
    parentId?: number | null;
    breeds?: string[] | null;
    colors?: string[] | null;
}
/** The target of a merge. */
export interface CategoryMerger {
    /** The category that takes over the animals and subcategories of this one. */
    intoId: number;
}
/** The public profile of an account that has animals. */
export interface Organization {
    /** The id of its account, as in `accountId` of its animals. */
    id: number;
    /** The organization’s name. */
    name: string;
    address?: Address;
    location?: Location;
    /** The phone number that the organization publishes, up to 50 characters. */
    phone?: string;
    /** The e-mail address that the organization publishes. The e-mail address of its account is never shown. */
    email?: string;
    /** Its website, up to 500 characters. */
    website?: string;
    hours?: Hours;
    /** What the organization is for: 1–2,000 characters, which may include line breaks. */
    mission?: string;
    adoption?: AdoptionPolicy;
    /** Its profiles on social media, up to ten. */
    socialMedia?: string[];
    /** The photos of the organization, the main one first. */
    photos?: Photo[];
    /** When it was published. */
    createdAt: string;
    /** When it last changed. */
    updatedAt: string;
    /** The entity tag of the organization, to send in `If-Match`. */
    etag: string;
}
/** The public profile of an account that has animals. */
export interface NewOrganization {
    /** The organization’s name, stored as sent: 1–255 characters, at least one of them not white space, no control characters. */
    name: string;
    address?: Address;
    location?: Location;
    /** The phone number that the organization publishes, up to 50 characters. */
    phone?: string;
    /** The e-mail address that the organization publishes. The e-mail address of its account is never shown. */
    email?: string;
    /** Its website, up to 500 characters. */
    website?: string;
    hours?: Hours;
    /** What the organization is for: 1–2,000 characters, which may include line breaks. */
    mission?: string;
    adoption?: AdoptionPolicy;
    /** Its profiles on social media, up to ten. */
    socialMedia?: string[];
}
/** The fields to change; `null` removes an optional field. */
export interface OrganizationPatch {
    /** The organization’s name, stored as sent: 1–255 characters, at least one of them not white space, no control characters. */
    name?: string;
    address?: AddressPatch | null;
    location?: LocationPatch | null;
    phone?: string | null;
    email?: string | null;
    website?: string | null;
    hours?: HoursPatch | null;
    mission?: string | null;
    adoption?: AdoptionPolicyPatch | null;
    socialMedia?: string[] | null;
}
/** A reservation of animals for an account until a given time. */
export interface Hold {
    /** The id of the hold, assigned by the service. */
    id: number;
    /** The animals of the hold, sorted by id, including those that have been ordered. */
    petIds: number[];
    /** The account that placed the hold. */
    accountId: number;
    status: HoldStatus;
    /** A note, stored as sent: 1–1,000 characters, which may include line breaks. */
    note?: string;
    /** When the hold expires, or would have expired. */
    expiresAt: string;
    /** When the hold ended. */
    endedAt?: string;
    /** When the hold was placed. */
    createdAt: string;
    /** When the hold last changed. */
    updatedAt: string;
}
/** A hold to place, with either `petId` or `petIds`. */
export interface NewHold {
    /** The animal to hold. */
    petId?: number;
    /** Several animals to hold, instead of `petId`: 1–20, without duplicates. The hold gets all of them or fails. */
    petIds?: number[];
    /** A note, stored as sent: 1–1,000 characters, which may include line breaks. */
    note?: string;
    /** When the hold expires (RFC 3339): at least one second from now, at most 30 days after it was placed. */
    expiresAt?: string;
}
/** The new expiry of a hold. */
export interface HoldExtension {
    /** When the hold expires (RFC 3339): at least one second from now, at most 30 days after it was placed. */
    expiresAt: string;
}
/** An order of an animal or of bonded animals, at the price that they had when they were ordered. */
export interface Order {
    /** The id of the order, assigned by the service. */
    id: number;
    /** The animal that was ordered; in an order of several animals, the first. */
    petId: number;
    /** The animals that were ordered together, sorted by id; absent for an order of one animal. */
    petIds?: number[];
    /** The number of animals. */
    quantity: number;
    /** When the animal is due to leave the store. */
    shipDate?: string;
    status: OrderStatus;
    /** Whether the animal was delivered. */
    complete: boolean;
    /** A note, stored as sent: 1–1,000 characters, which may include line breaks. */
    note?: string;
    price?: Price;
    /** The hold that the animal was ordered from. */
    holdId?: number;
    /** The account that placed the order. */
    accountId: number;
    /** When the order was placed. */
    createdAt: string;
    /** When the order last changed. */
    updatedAt: string;
    /** When the order expires unless it is approved, or when it expired. Absent after any step. */
    expiresAt?: string;
    approval?: OrderStep;
    delivery?: OrderStep;
    cancellation?: OrderStep;
    return?: OrderStep;
}
/** An order to place, with either `petId` or `petIds`. */
export interface NewOrder {
    /** The animal to order. */
    petId?: number;
    /** Bonded animals to order together, instead of `petId`: all of `group.petIds` of their full view. */
    petIds?: number[];
    /** Always 1, because each animal is unique. */
    quantity?: number;
    /** When the animal is due to leave the store (RFC 3339). */
    shipDate?: string;
    /** A note, stored as sent: 1–1,000 characters, which may include line breaks. */
    note?: string;
    /** Your hold on the animal; required if the animal is on hold for you. */
    holdId?: number;
}
/** A step of an order. All fields are optional. */
export interface NewOrderStep {
    /** A note, stored as sent: 1–1,000 characters, which may include line breaks. */
    note?: string;
}
/** The return of an animal. All fields are optional. */
export interface NewOrderReturn {
    /** A note, stored as sent: 1–1,000 characters, which may include line breaks. */
    note?: string;
    /** Whether the animal is `available` at once, which is the default. */
    ready?: boolean;
}
/** The number of animals in each status. */
export interface Inventory {
    available: number;
    pending: number;
    sold: number;
}
/** An event. More types may be added: ignore unknown ones. */
export type PetstoreEvent = PetEvent | CategoryEvent | OrganizationEvent | HoldEvent | OrderEvent | MessageEvent | AccountEvent | KeyEvent | BanEvent | WebhookEvent;
/** A new webhook with its signing secret. */
export interface CreatedWebhook {
    /** Assigned by the service. */
    id: number;
    /** The endpoint URL that receives the events: `https`, with a public address, and without user name, password and fragment. */
    url: string;
    /** Delivers only events of these types; `pet.*` stands for all types of one kind. Default: every type. */
    types?: (EventFilter | string)[];
    /** Delivers only events about these categories, the pets in them, and the holds and orders of such pets. */
    categoryIds?: number[];
    /** A note on the purpose of the webhook: 1–255 characters, at least one not white space, no control characters. */
    description?: string;
    status: WebhookStatus;
    /** Why the webhook is `disabled`: the receiver responded 410, every attempt failed for five days, the operator disabled it, its key was revoked or expired, its account was suspended or deleted, or the operator replaced its secret. */
    disabledReason?: 'gone' | 'failing' | 'operator' | 'key_revoked' | 'key_expired' | 'account_suspended' | 'account_deleted' | 'secret_replaced' | string;
    /** Since when every attempt has failed; absent if the last attempt succeeded. */
    failingSince?: string;
    /** When the webhook was created. */
    createdAt: string;
    /** When the webhook was last changed. */
    updatedAt: string;
    /** The account that owns the webhook. The webhook receives the events that this account can see. */
    accountId: number;
    /** The id of the API key that the webhook depends on: the key that created the webhook or last activated it, or the key that replaced that key. */
    keyId?: string;
    /** The scopes of that key; `*` is every scope. The webhook receives only events that these scopes allow. */
    scopes: string[];
    /** The secret that signs deliveries (Standard Webhooks). */
    secret: string | null;
}
/** An endpoint URL, and the events to send to it. */
export interface NewWebhook {
    /** The endpoint URL that receives the events: `https`, with a public address, and without user name, password and fragment. */
    url: string;
    /** Delivers only events of these types; `pet.*` stands for all types of one kind. Default: every type. */
    types?: EventFilter[];
    /** Delivers only events about these categories, the pets in them, and the holds and orders of such pets. */
    categoryIds?: number[];
    /** A note on the purpose of the webhook: 1–255 characters, at least one not white space, no control characters. */
    description?: string;
}
/** An endpoint URL to which events are sent as they happen. */
export interface Webhook {
    /** Assigned by the service. */
    id: number;
    /** The endpoint URL that receives the events: `https`, with a public address, and without user name, password and fragment. */
    url: string;
    /** Delivers only events of these types; `pet.*` stands for all types of one kind. Default: every type. */
    types?: (EventFilter | string)[];
    /** Delivers only events about these categories, the pets in them, and the holds and orders of such pets. */
    categoryIds?: number[];
    /** A note on the purpose of the webhook: 1–255 characters, at least one not white space, no control characters. */
    description?: string;
    status: WebhookStatus;
    /** Why the webhook is `disabled`: the receiver responded 410, every attempt failed for five days, the operator disabled it, its key was revoked or expired, its account was suspended or deleted, or the operator replaced its secret. */
    disabledReason?: 'gone' | 'failing' | 'operator' | 'key_revoked' | 'key_expired' | 'account_suspended' | 'account_deleted' | 'secret_replaced' | string;
    /** Since when every attempt has failed; absent if the last attempt succeeded. */
    failingSince?: string;
    /** When the webhook was created. */
    createdAt: string;
    /** When the webhook was last changed. */
    updatedAt: string;
    /** The account that owns the webhook. The webhook receives the events that this account can see. */
    accountId: number;
    /** The id of the API key that the webhook depends on: the key that created the webhook or last activated it, or the key that replaced that key. */
    keyId?: string;
    /** The scopes of that key; `*` is every scope. The webhook receives only events that these scopes allow. */
    scopes: string[];
}
/** The fields to change; `null` removes an optional field. */
export interface WebhookPatch {
    /** The endpoint URL that receives the events: `https`, with a public address, and without user name, password and fragment. */
    url?: string;
    types?: EventFilter[] | null;
    categoryIds?: number[] | null;
    description?: string | null;
}
/** A new signing secret. */
export interface RotatedSecret {
    /** The secret that signs deliveries (Standard Webhooks). */
    secret: string | null;
    /** Until when deliveries are also signed with the previous secrets. */
    previousExpiresAt: string;
}
/** How to rotate a secret. */
export interface SecretRotation {
    /** How long deliveries are also signed with the previous secrets: up to seven days. One day by default. */
    overlapSeconds?: number;
}
/** The delivery of one event to one webhook, with every attempt. */
export interface Delivery {
    /** Assigned by the service. */
    id: number;
    /** The event, which is also the `webhook-id`; absent for a test delivery. */
    eventId?: string;
    /** The type of the event; `webhook.test` for a test delivery. */
    type: string;
    status: DeliveryStatus;
    /** When the delivery was created. */
    createdAt: string;
    /** When the delivery was last changed. */
    updatedAt: string;
    /** When the next attempt is due; absent if the delivery is finished, in progress, or waits for an earlier event with the same ordering key. */
    nextAttemptAt?: string;
    /** Every attempt, oldest first. */
    attempts: WebhookAttempt[];
}
/** The events that will be delivered again. */
export interface Redelivery {
    /** Identifies the redelivery of all events since a time. */
    id?: number;
    /** The event to deliver again. */
    eventId?: string;
    /** All events that were recorded at this time or later are delivered again. */
    since?: string;
}
/** Either `eventId` or `since`. */
export interface NewRedelivery {
    /** The event to deliver again. */
    eventId?: string;
    /** Deliver again all events that were recorded at this time or later (RFC 3339). */
    since?: string;
}
/** A change, and who made it. */
export interface AuditEntry {
    /** Identifier of the entry. Later changes have higher ids. */
    id: number;
    /** When the change was recorded. */
    time: string;
    /** The type of the event of the change, such as `pet.updated`. More types may be added. */
    type: string;
    /** The id of the resource that was changed. */
    resourceId: number | string;
    /** The event of the change in `GET /v1/events`; absent while it has no id yet. */
    eventId?: string;
    /** The account that made the change, or for which the operator made it. */
    accountId?: number;
    /** The id of the API key of the request; absent for a change on a page and for a command of the operator. */
    keyId?: string;
    /** The id of the session of the browser, for a change on a page; absent for other changes. */
    sessionId?: number;
    /** The id of the member of the account who made the change on a page; absent for other changes. */
    personId?: number;
    /** The `X-Request-Id` of the request; absent for a command of the operator. */
    requestId?: string;
    /** The IP address that the request came from; absent for a command of the operator. */
    address?: string;
    /** The trace of the request, as a `traceparent` header; absent if the request has none. */
    traceparent?: string;
    /** The command of the operator, such as `key revoke`; absent for a request. */
    command?: string;
}
/** The requests of one key on one day that were refused with one error code. */
export interface Refusal {
    /** Assigned by the service. */
    id: number;
    /** The account of the key. */
    accountId: number;
    /** The key. */
    keyId: string;
    /** The error code of the responses. */
    code: string;
    /** The UTC day. */
    day: string;
    /** The number of refused requests. */
    requests: number;
    /** The time of the last request. */
    lastAt: string;
    /** The `X-Request-Id` of the last request. */
    lastRequestId: string;
    /** The IP address that sent the last request. */
    lastAddress: string;
}
/** The account of a key. */
export interface Account {
    /** Identifier of the account. */
    id: number;
    /** The name of the account. */
    name: string;
    /** The e-mail address of the account. */
    email: string;
    /** The plan of the account. More values may be added: ignore unknown ones. */
    plan: 'free' | 'pro' | 'business' | 'enterprise' | string;
    rateLimits: RateLimits;
    bounds: Bounds;
    sandbox?: SandboxBounds;
}
/** The requests of an account on a deployment. */
export interface Usage {
    /** The length of a bucket. More values may be added: ignore unknown ones. */
    interval: 'hour' | 'day' | string;
    /** The beginning of the first bucket. */
    from: string;
    /** The end of the last bucket. */
    to: string;
    total: UsageCounts;
    /** Every hour or UTC day of the range, oldest first. */
    buckets: UsageBucket[];
    /** The keys with requests in the range, the most used first. */
    keys: KeyUsage[];
}
/** A request in the request log: never its body, its headers or its key. */
export interface LoggedRequest {
    /** Identifier of the entry. Later requests have higher ids. */
    id: number;
    /** When the server responded. */
    time: string;
    /** The `X-Request-Id` of the response. */
    requestId: string;
    /** The HTTP method. */
    method: string;
    /** The path and the query parameters of the operation. Other parameters are left out. */
    path?: string;
    /** The operation; absent if there is none with this path and method. */
    operation?: string;
    /** The status of the response. */
    status: number;
    /** The error code of the response; absent for a success. */
    code?: string;
    /** How long the server took to respond, in milliseconds; for a stream, until the stream began. */
    durationMs: number;
    /** The API key of the request. */
    keyId: string;
}
/** A message that is stored and will be delivered. */
export interface QueuedMessage {
    /** Assigned by the service when the message is sent. */
    id: string;
    /** The text: 1–10,000 characters, stored as sent. Line breaks and tabs are allowed, U+0000 is not. */
    message: string;
    /** The message is stored and will be delivered. */
    status: 'queued';
    /** When the message was sent. */
    createdAt: string;
}
/** A message to send. */
export interface NewMessage {
    /** The text: 1–10,000 characters, stored as sent. Line breaks and tabs are allowed, U+0000 is not. */
    message: string;
    /** The animal that the message is about: its owner receives it. Without it, the store receives the message. */
    petId?: number;
    /** The e-mail address for replies. */
    replyTo?: string;
}
/** A message and its delivery. */
export interface Message {
    /** Assigned by the service when the message is sent. */
    id: string;
    /** The text: 1–10,000 characters, stored as sent. Line breaks and tabs are allowed, U+0000 is not. */
    message: string;
    status: MessageStatus;
    /** When the message was sent. */
    createdAt: string;
    /** The account that sent the message; absent for the store itself, and for visitors of the page of an animal. */
    accountId?: number;
    /** The account that receives the message; absent for the store itself. */
    toAccountId?: number;
    /** The animal that the message is about. */
    petId?: number;
    /** The e-mail address for replies. */
    replyTo?: string;
    /** When the delivery of the message last changed. */
    updatedAt: string;
    /** Every attempt to deliver the message, oldest first. */
    attempts: DeliveryAttempt[];
}
/** Availability of an animal. */
export type PetStatus = 'available' | 'pending' | 'sold';
/** The sex. */
export type Sex = 'female' | 'male' | 'unknown';
/** The stage of life. */
export type Age = 'baby' | 'young' | 'adult' | 'senior';
/** The size when grown. */
export type Size = 'small' | 'medium' | 'large' | 'xlarge';
/** The coat or hair length. */
export type Coat = 'hairless' | 'short' | 'medium' | 'long' | 'wire' | 'curly';
export type YesNoUnknown = 'yes' | 'no' | 'unknown';
/** `active` until the hold ends; then `released` if it was released early, `used` if all of its animals were ordered, or `expired`, from the moment of `expiresAt`. */
export type HoldStatus = 'active' | 'released' | 'used' | 'expired';
/** An order is placed, approved, delivered and maybe returned. */
export type OrderStatus = 'placed' | 'approved' | 'delivered' | 'returned' | 'cancelled' | 'expired';
/** An event type, or all types of one kind. */
export type EventFilter = 'pet.*' | 'category.*' | 'organization.*' | 'hold.*' | 'order.*' | 'message.*' | 'account.*' | 'key.*' | 'ban.*' | 'webhook.*' | 'pet.created' | 'pet.updated' | 'pet.deleted' | 'category.created' | 'category.updated' | 'category.deleted' | 'category.merged' | 'organization.created' | 'organization.updated' | 'organization.deleted' | 'hold.created' | 'hold.extended' | 'hold.released' | 'hold.used' | 'hold.expired' | 'order.placed' | 'order.approved' | 'order.delivered' | 'order.returned' | 'order.cancelled' | 'order.expired' | 'message.queued' | 'message.delivered' | 'message.failed' | 'account.created' | 'account.updated' | 'account.password_changed' | 'account.second_factor_changed' | 'account.member_joined' | 'account.member_left' | 'account.role_changed' | 'account.usage_alert' | 'account.suspended' | 'account.resumed' | 'account.transferred' | 'account.deletion_requested' | 'account.deleted' | 'key.created' | 'key.rotated' | 'key.revoked' | 'key.expired' | 'ban.imposed' | 'ban.lifted' | 'webhook.created' | 'webhook.updated' | 'webhook.activated' | 'webhook.deactivated' | 'webhook.disabled' | 'webhook.deleted' | 'webhook.secret_rotated' | 'webhook.redelivery_requested';
/** `pending`: not delivered yet. `delivered`: the receiver responded with 200–299. */
export type DeliveryStatus = 'pending' | 'delivered' | 'failed';
/** A price or an adoption fee. */
export interface Price {
    /** In the smallest unit of the currency: 12500 for 125.00 EUR. */
    amount: number;
    /** ISO 4217 code: three capital letters. */
    currency: string;
}
/** The breeds of an animal. */
export interface Breeds {
    /** The breed; for a mixed animal, the most prominent one. */
    primary?: string;
    /** The second breed of a mixed animal. */
    secondary?: string;
    /** Whether the animal is a mix. */
    mixed?: boolean;
    /** Whether the breed is unknown. */
    unknown?: boolean;
}
/** The colors of an animal. */
export interface Colors {
    /** The main color. */
    primary?: string;
    /** The second color. */
    secondary?: string;
    /** The third color. */
    tertiary?: string;
}
/** The weight. */
export interface Weight {
    /** The number of units. */
    value: number;
    /** The unit. */
    unit: 'kg' | 'g' | 'lb' | 'oz';
}
/** Whom the animal gets along with. */
export interface GoodWith {
    /** Whether it gets along with children. */
    children?: 'yes' | 'no' | 'unknown';
    /** Whether it gets along with other dogs. */
    dogs?: 'yes' | 'no' | 'unknown';
    /** Whether it gets along with other cats. */
    cats?: 'yes' | 'no' | 'unknown';
    /** Whether it gets along with elderly people. */
    elderly?: 'yes' | 'no' | 'unknown';
    /** Whether it gets along with farm animals. */
    farmAnimals?: 'yes' | 'no' | 'unknown';
}
/** Training and health. */
export interface Traits {
    /** Whether it is house-trained. */
    houseTrained?: 'yes' | 'no' | 'unknown';
    /** Whether it is crate-trained. */
    crateTrained?: 'yes' | 'no' | 'unknown';
    /** Whether it walks on a leash. */
    leashTrained?: 'yes' | 'no' | 'unknown';
    /** Whether it is spayed or neutered. */
    spayedNeutered?: 'yes' | 'no' | 'unknown';
    /** Whether its vaccinations are up to date. */
    vaccinated?: 'yes' | 'no' | 'unknown';
    /** Whether it is declawed. */
    declawed?: 'yes' | 'no' | 'unknown';
    /** Whether it has special needs. */
    specialNeeds?: 'yes' | 'no' | 'unknown';
}
/** The litter of the animal, or the animals that it is bonded with. */
export interface ShownGroup {
    /** Your name for the group, the same for all its animals. */
    id: string;
    /** `bonded` animals can only be held and ordered together; the animals of a `litter` can be held and ordered one by one. */
    kind: 'litter' | 'bonded';
    /** For a `bonded` group: the ids of the animal and of the others that are not sold, sorted. */
    petIds?: number[];
}
/** Up to 20 words that describe the animal: playful, calm. */
export type Tags = string[];
/** The URLs of up to 10 videos. */
export type Videos = string[];
/** The numbers of the microchips. Only the owner of the animal sees them. */
export type Microchips = string[];
/** How the animal came into care. Only its owner sees it. */
export interface Intake {
    /** The day on which the animal came in. */
    date: string;
    /** How it came in. */
    kind: 'stray' | 'owner_surrender' | 'owner_intended_euthanasia' | 'transfer_in' | 'seized' | 'born_in_care' | 'returned' | 'other';
    /** Where it came from: a person, a place or another organization. */
    from?: string;
}
/** How the animal left care. Only its owner sees it. */
export interface Outcome {
    /** The day on which the animal left. */
    date: string;
    /** How it left. */
    kind: 'adoption' | 'returned_to_owner' | 'transfer_out' | 'returned_to_field' | 'died_in_care' | 'lost_in_care' | 'shelter_euthanasia' | 'owner_intended_euthanasia' | 'other';
    /** Where it went: a person, a place or another organization. */
    to?: string;
}
/** Up to 50 texts of your own, each with a name; stored and returned as sent. */
export type Extra = Record<string, string>;
/** In a list with `near`: how far away the organization of the animal is. */
export interface Distance {
    /** The number of units, to one decimal. */
    value: number;
    /** The unit: the unit of `within`, or else kilometers. */
    unit: 'km' | 'mi';
}
/** A warning about a value. */
export interface Warning {
    /** A JSON Pointer to the value. */
    path: string;
    /** `unknown_value`. More codes may be added. */
    code: string;
    /** The warning in English. */
    message: string;
    /** The value. */
    value: string;
    /** The most similar known value, if any is similar. */
    suggestion?: string;
}
/** The litter of the animal, or the animals that it is bonded with. */
export interface Group {
    /** Your name for the group, the same for all its animals. */
    id: string;
    /** `bonded` animals can only be held and ordered together; the animals of a `litter` can be held and ordered one by one. */
    kind: 'litter' | 'bonded';
}
/** The fields of the price to change; the others stay. If the animal has no price, both fields are required. */
export interface PricePatch {
    /** In the smallest unit of the currency: 12500 for 125.00 EUR. */
    amount?: number;
    /** ISO 4217 code: three capital letters. */
    currency?: string;
}
/** The members to change; `null` removes a member, and the others stay. */
export interface BreedsPatch {
    primary?: string | null;
    secondary?: string | null;
    mixed?: boolean | null;
    unknown?: boolean | null;
}
/** The members to change; `null` removes a member, and the others stay. */
export interface ColorsPatch {
    primary?: string | null;
    secondary?: string | null;
    tertiary?: string | null;
}
/** The members to change; `null` removes a member, and the others stay. */
export interface WeightPatch {
    value?: number | null;
    unit?: 'kg' | 'g' | 'lb' | 'oz' | null;
}
/** The members to change; `null` removes a member, and the others stay. */
export interface GoodWithPatch {
    children?: 'yes' | 'no' | 'unknown' | null;
    dogs?: 'yes' | 'no' | 'unknown' | null;
    cats?: 'yes' | 'no' | 'unknown' | null;
    elderly?: 'yes' | 'no' | 'unknown' | null;
    farmAnimals?: 'yes' | 'no' | 'unknown' | null;
}
/** The members to change; `null` removes a member, and the others stay. */
export interface TraitsPatch {
    houseTrained?: 'yes' | 'no' | 'unknown' | null;
    crateTrained?: 'yes' | 'no' | 'unknown' | null;
    leashTrained?: 'yes' | 'no' | 'unknown' | null;
    spayedNeutered?: 'yes' | 'no' | 'unknown' | null;
    vaccinated?: 'yes' | 'no' | 'unknown' | null;
    declawed?: 'yes' | 'no' | 'unknown' | null;
    specialNeeds?: 'yes' | 'no' | 'unknown' | null;
}
/** The members to change; `null` removes a member, and the others stay. */
export interface GroupPatch {
    id?: string | null;
    kind?: 'litter' | 'bonded' | null;
}
/** The members to change; `null` removes a member, and the others stay. */
export interface IntakePatch {
    date?: string | null;
    kind?: 'stray' | 'owner_surrender' | 'owner_intended_euthanasia' | 'transfer_in' | 'seized' | 'born_in_care' | 'returned' | 'other' | null;
    from?: string | null;
}
/** The members to change; `null` removes a member, and the others stay. */
export interface OutcomePatch {
    date?: string | null;
    kind?: 'adoption' | 'returned_to_owner' | 'transfer_out' | 'returned_to_field' | 'died_in_care' | 'lost_in_care' | 'shelter_euthanasia' | 'owner_intended_euthanasia' | 'other' | null;
    to?: string | null;
}
/** The texts to change; `null` removes a text, and the others stay. */
export type ExtraPatch = Record<string, string | null>;
/** The URL of each size. It needs no key, is valid for ever and always shows the same photo. */
export interface PhotoUrls {
    /** A JPEG of at most 100 × 100 pixels. */
    '100': string;
    /** A JPEG of at most 300 × 300 pixels. */
    '300': string;
    /** A square JPEG of at most 450 × 450 pixels, cropped. */
    '450': string;
    /** A JPEG of at most 600 × 600 pixels. */
    '600': string;
    /** A JPEG of at most 1280 × 1280 pixels. */
    '1280': string;
}
/** An error in a row of an import, or a warning. */
export interface ImportError {
    /** `error`: the row was not imported, or the photo of its column was not. */
    level: 'error' | 'warning';
    /** The first line of the row, from 1; absent for an animal to delete. */
    line?: number;
    /** The column, or the field of NDJSON. */
    column?: string;
    /** The animal, if it is known. */
    petId?: number;
    /** The code of the error, or of the error of a field. */
    code: string;
    /** The error or warning in English. */
    message: string;
    /** The first 100 characters of the cell. */
    value?: string;
    /** The nearest valid value. */
    suggestion?: string;
}
/** The intakes and outcomes of animals of one age. */
export interface ShelterMovements {
    /** The age at the intake or the outcome. */
    age: 'upToFiveMonths' | 'adult' | 'ageUnknown';
    /** The animals that came in, by the kind of their intake. */
    liveIntake: {
        /** Animals. */
        strayAtLarge: number;
        /** Animals. */
        relinquishedByOwner: number;
        /** Animals. */
        ownerIntendedEuthanasia: number;
        /** Animals. */
        transferredInFromAgency: number;
        /** Animals. */
        seizedOrImpounded: number;
        /** Animals. */
        otherIntakes: number;
    };
    /** The animals that left alive, by the kind of their outcome. */
    liveOutcomes: {
        /** Animals. */
        adoption: number;
        /** Animals. */
        returnedToOwner: number;
        /** Animals. */
        transferredToAgency: number;
        /** Animals. */
        returnedToField: number;
        /** Animals. */
        otherLiveOutcome: number;
    };
    /** The animals with another outcome, by its kind. */
    otherOutcomes: {
        /** Animals. */
        diedInCare: number;
        /** Animals. */
        lostInCare: number;
        /** Animals. */
        shelterEuthanasia: number;
        /** Animals. */
        ownerIntendedEuthanasia: number;
    };
}
/** Where the organization is. */
export interface Address {
    /** The street and number, up to 100 characters. */
    line1?: string;
    /** More of the address, such as a floor, up to 100 characters. */
    line2?: string;
    /** The city, up to 100 characters. */
    city?: string;
    /** The state or region, up to 50 characters: `CA` or `Bavaria`. */
    state?: string;
    /** The postal code, up to 50 characters. */
    postalCode?: string;
    /** The country: its ISO 3166-1 alpha-2 code. */
    country: string;
}
/** The point where the organization is (WGS 84). */
export interface Location {
    /** Degrees north of the equator, −90 to 90. */
    latitude: number;
    /** Degrees east of Greenwich, −180 to 180. */
    longitude: number;
}
/** When visitors are welcome, for each day of the week. */
export interface Hours {
    /** Monday, up to 100 characters: `10:00–17:00`, or `closed`. */
    monday?: string;
    /** Tuesday, up to 100 characters: `10:00–17:00`, or `closed`. */
    tuesday?: string;
    /** Wednesday, up to 100 characters: `10:00–17:00`, or `closed`. */
    wednesday?: string;
    /** Thursday, up to 100 characters: `10:00–17:00`, or `closed`. */
    thursday?: string;
    /** Friday, up to 100 characters: `10:00–17:00`, or `closed`. */
    friday?: string;
    /** Saturday, up to 100 characters: `10:00–17:00`, or `closed`. */
    saturday?: string;
    /** Sunday, up to 100 characters: `10:00–17:00`, or `closed`. */
    sunday?: string;
}
/** How to adopt an animal. */
export interface AdoptionPolicy {
    /** How to adopt: 1–2,000 characters, which may include line breaks. */
    policy?: string;
    /** A page about adoptions, up to 500 characters. */
    url?: string;
}
/** The members to change; `null` removes a member, and the others stay. */
export interface AddressPatch {
    line1?: string | null;
    line2?: string | null;
    city?: string | null;
    state?: string | null;
    postalCode?: string | null;
    country?: string | null;
}
/** The members to change; `null` removes a member, and the others stay. */
export interface LocationPatch {
    latitude?: number | null;
    longitude?: number | null;
}
/** The members to change; `null` removes a member, and the others stay. */
export interface HoursPatch {
    monday?: string | null;
    tuesday?: string | null;
    wednesday?: string | null;
    thursday?: string | null;
    friday?: string | null;
    saturday?: string | null;
    sunday?: string | null;
}
/** The members to change; `null` removes a member, and the others stay. */
export interface AdoptionPolicyPatch {
    policy?: string | null;
    url?: string | null;
}
/** A step that the order has taken. */
export interface OrderStep {
    /** When the step was taken. */
    at: string;
    /** The account that took the step. Visible to that account, to the owner of the animal and to admins. */
    accountId?: number;
    /** A note, stored as sent: 1–1,000 characters, which may include line breaks. */
    note?: string;
}
/** An event of the kind `pet`. */
export interface PetEvent {
    /** The permanent id of the event. Pass it as `after` to continue from there. */
    id: string;
    /** The event type. */
    type: 'pet.created' | 'pet.updated' | 'pet.deleted';
    /** When the event happened. */
    time: string;
    /** The position in the total order of all events. Events that you cannot see leave gaps. */
    sequence: number;
    /** The account that caused the event. */
    accountId?: number;
    data: PetEventData;
    changes: EventChanges;
    cause?: EventCause;
}
/** An event of the kind `category`. */
export interface CategoryEvent {
    /** The permanent id of the event. Pass it as `after` to continue from there. */
    id: string;
    /** The event type. */
    type: 'category.created' | 'category.updated' | 'category.deleted' | 'category.merged';
    /** When the event happened. */
    time: string;
    /** The position in the total order of all events. Events that you cannot see leave gaps. */
    sequence: number;
    /** The account that caused the event. */
    accountId?: number;
    data: CategoryEventData;
    changes: EventChanges;
    cause?: EventCause;
}
/** An event of the kind `organization`. */
export interface OrganizationEvent {
    /** The permanent id of the event. Pass it as `after` to continue from there. */
    id: string;
    /** The event type. */
    type: 'organization.created' | 'organization.updated' | 'organization.deleted';
    /** When the event happened. */
    time: string;
    /** The position in the total order of all events. Events that you cannot see leave gaps. */
    sequence: number;
    /** The account that caused the event. */
    accountId?: number;
    data: OrganizationEventData;
    changes: EventChanges;
    cause?: EventCause;
}
/** An event of the kind `hold`. */
export interface HoldEvent {
    /** The permanent id of the event. Pass it as `after` to continue from there. */
    id: string;
    /** The event type. */
    type: 'hold.created' | 'hold.extended' | 'hold.released' | 'hold.used' | 'hold.expired';
    /** When the event happened. */
    time: string;
    /** The position in the total order of all events. Events that you cannot see leave gaps. */
    sequence: number;
    /** The account that caused the event. */
    accountId?: number;
    data: HoldEventData;
    changes: EventChanges;
    cause?: EventCause;
}
/** An event of the kind `order`. */
export interface OrderEvent {
    /** The permanent id of the event. Pass it as `after` to continue from there. */
    id: string;
    /** The event type. */
    type: 'order.placed' | 'order.approved' | 'order.delivered' | 'order.returned' | 'order.cancelled' | 'order.expired';
    /** When the event happened. */
    time: string;
    /** The position in the total order of all events. Events that you cannot see leave gaps. */
    sequence: number;
    /** The account that caused the event. */
    accountId?: number;
    data: OrderEventData;
    changes: EventChanges;
    cause?: EventCause;
}
/** An event of the kind `message`. */
export interface MessageEvent {
    /** The permanent id of the event. Pass it as `after` to continue from there. */
    id: string;
    /** The event type. */
    type: 'message.queued' | 'message.delivered' | 'message.failed';
    /** When the event happened. */
    time: string;
    /** The position in the total order of all events. Events that you cannot see leave gaps. */
    sequence: number;
    /** The account that caused the event. */
    accountId?: number;
    data: MessageEventData;
    changes: EventChanges;
    cause?: EventCause;
}
/** An event of the kind `account`. */
export interface AccountEvent {
    /** The permanent id of the event. Pass it as `after` to continue from there. */
    id: string;
    /** The event type. */
    type: 'account.created' | 'account.updated' | 'account.password_changed' | 'account.second_factor_changed' | 'account.member_joined' | 'account.member_left' | 'account.role_changed' | 'account.usage_alert' | 'account.suspended' | 'account.resumed' | 'account.transferred' | 'account.deletion_requested' | 'account.deleted';
    /** When the event happened. */
    time: string;
    /** The position in the total order of all events. Events that you cannot see leave gaps. */
    sequence: number;
    /** The account that caused the event. */
    accountId?: number;
    data: AccountEventData;
    changes: EventChanges;
    cause?: EventCause;
}
/** An event of the kind `key`. */
export interface KeyEvent {
    /** The permanent id of the event. Pass it as `after` to continue from there. */
    id: string;
    /** The event type. */
    type: 'key.created' | 'key.rotated' | 'key.revoked' | 'key.expired';
    /** When the event happened. */
    time: string;
    /** The position in the total order of all events. Events that you cannot see leave gaps. */
    sequence: number;
    /** The account that caused the event. */
    accountId?: number;
    data: KeyEventData;
    changes: EventChanges;
    cause?: EventCause;
}
/** An event of the kind `ban`. */
export interface BanEvent {
    /** The permanent id of the event. Pass it as `after` to continue from there. */
    id: string;
    /** The event type. */
    type: 'ban.imposed' | 'ban.lifted';
    /** When the event happened. */
    time: string;
    /** The position in the total order of all events. Events that you cannot see leave gaps. */
    sequence: number;
    /** The account that caused the event. */
    accountId?: number;
    data: BanEventData;
    changes: EventChanges;
    cause?: EventCause;
}
/** An event of the kind `webhook`. */
export interface WebhookEvent {
    /** The permanent id of the event. Pass it as `after` to continue from there. */
    id: string;
    /** The event type. */
    type: 'webhook.created' | 'webhook.updated' | 'webhook.activated' | 'webhook.deactivated' | 'webhook.disabled' | 'webhook.deleted' | 'webhook.secret_rotated' | 'webhook.redelivery_requested';
    /** When the event happened. */
    time: string;
    /** The position in the total order of all events. Events that you cannot see leave gaps. */
    sequence: number;
    /** The account that caused the event. */
    accountId?: number;
    data: WebhookEventData;
    changes: EventChanges;
    cause?: EventCause;
}
/** `inactive`: not activated yet, deactivated, or its URL changed. `active`: events are delivered. */
export type WebhookStatus = 'inactive' | 'active' | 'disabled';
/** An attempt to send a delivery. It succeeds with a status from 200 to 299. */
export interface WebhookAttempt {
    /** The number of the attempt, from 1. Numbers are missing where the service itself interrupted an attempt. */
    number: number;
    /** When the attempt began. */
    at: string;
    /** The duration of the attempt in milliseconds. */
    durationMs: number;
    /** The HTTP status of the response; absent without a response. */
    status?: number;
    /** Why there was no response. */
    fault?: string;
    /** The first 1,024 bytes of the response body. Lists leave it out. */
    answer?: string;
}
/** The numbers of requests that the account may send to each deployment. */
export interface RateLimits {
    /** In any 60 seconds. */
    perMinute: number;
    /** In a UTC calendar day. */
    perDay: number;
}
/** What the account has, and can have at most, on this deployment. */
export interface Bounds {
    /** The animals. */
    pets: {
        /** The number that the account has now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The rows that imports changed today, in UTC, and those that an import in progress may change. */
    importedRows: {
        /** The number that the account has now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The bytes of the events that the account caused in the last 30 days, today included. */
    eventBytes: {
        /** The number that the account has now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The orders that are placed or approved. */
    openOrders: {
        /** The number that the account has now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The animals in all active holds. */
    heldPets: {
        /** The number that the account has now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The categories that the account created, with the placeholders that its animals created. */
    categories: {
        /** The number that the account has now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The webhooks. */
    webhooks: {
        /** The number that the account has now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The open event streams, on the node that sends the response. */
    streams: {
        /** The number that the account has now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The replies to visitors that the account sent by e-mail today, in UTC. */
    emailReplies: {
        /** The number that the account has now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The bytes of texts: of the messages that the account sent, of its replies and notes, and of the responses to its requests with `Idempotency-Key`. */
    storedBytes: {
        /** The number that the account has now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The bytes of the photos of its animals and its organization: the originals and their sizes. */
    photoBytes: {
        /** The number that the account has now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The messages to one recipient: to the store, or to one owner of animals. Each recipient has a count of its own. */
    messagesPerRecipient: {
        /** The bound. */
        maximum: number;
        /** The time over which messages are counted. */
        windowSeconds: number;
    };
    /** The lists in progress that scan many rows, on the node that sends the response. */
    scans: {
        /** The number that the account has now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The uploads of photos and imports in progress, on the node that sends the response. */
    uploads: {
        /** The number that the account has now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
}
/** What the accounts of all trial keys together have, and can have at most; only for a trial key. */
export interface SandboxBounds {
    /** The animals of these accounts. */
    pets: {
        /** The number that all these accounts have now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The bytes of the events of these accounts, and of the stored responses to their requests with `Idempotency-Key`. */
    bytes: {
        /** The number that all these accounts have now. */
        used: number;
        /** The bound. */
        maximum: number;
    };
    /** The requests of these accounts. The `RateLimit` header shows how many are left (`sandbox-minute`). */
    requests: {
        /** The bound. */
        maximum: number;
        /** The time over which requests are counted. */
        windowSeconds: number;
    };
}
/** The requests of the whole range. */
export interface UsageCounts {
    /** All requests: the sum of the next five. */
    requests: number;
    /** Requests with a response status below 400. */
    succeeded: number;
    /** Requests with a response status from 400 to 499, without those that a rate limit or a ban rejected. */
    clientErrors: number;
    /** Requests that the rate limit rejected. */
    rateLimited: number;
    /** Requests that were rejected because the key was banned. */
    banned: number;
    /** Requests with a response status of 500 or more. */
    serverErrors: number;
    /** How many of `requests` are not in the request log, because too many came in one second. */
    unlogged: number;
}
/** The requests of one hour or UTC day. */
export interface UsageBucket {
    /** When the bucket begins. */
    start: string;
    /** All requests: the sum of the next five. */
    requests: number;
    /** Requests with a response status below 400. */
    succeeded: number;
    /** Requests with a response status from 400 to 499, without those that a rate limit or a ban rejected. */
    clientErrors: number;
    /** Requests that the rate limit rejected. */
    rateLimited: number;
    /** Requests that were rejected because the key was banned. */
    banned: number;
    /** Requests with a response status of 500 or more. */
    serverErrors: number;
    /** How many of `requests` are not in the request log, because too many came in one second. */
    unlogged: number;
}
/** The requests with one key. */
export interface KeyUsage {
    /** The API key. */
    keyId: string;
    /** All requests: the sum of the next five. */
    requests: number;
    /** Requests with a response status below 400. */
    succeeded: number;
    /** Requests with a response status from 400 to 499, without those that a rate limit or a ban rejected. */
    clientErrors: number;
    /** Requests that the rate limit rejected. */
    rateLimited: number;
    /** Requests that were rejected because the key was banned. */
    banned: number;
    /** Requests with a response status of 500 or more. */
    serverErrors: number;
    /** How many of `requests` are not in the request log, because too many came in one second. */
    unlogged: number;
}
/** `queued` until delivery is complete; `delivered` when it is in the inbox and, if the store sends e-mail, sent by e-mail; `failed` when it could not be sent by e-mail: it is in the inbox nevertheless. */
export type MessageStatus = 'queued' | 'delivered' | 'failed';
/** An attempt to deliver a message. */
export interface DeliveryAttempt {
    /** When the delivery was attempted. */
    at: string;
    /** Whether the message was put into the inbox or sent by e-mail. More values may be added: ignore unknown ones. */
    by: 'inbox' | 'email' | string;
    /** Whether the attempt succeeded. */
    outcome: 'delivered' | 'failed';
    /** Why the e-mail failed: no mail server responded, it took too long, or it rejected the message permanently or for now. */
    reason?: 'unreachable' | 'timeout' | 'refused' | 'postponed' | string;
}
/** An animal after the change, or before its deletion. */
export interface PetEventData {
    /** Assigned by the service on creation. */
    id: number;
    /** The account that the resource belongs to. */
    accountId?: number;
    /** The animal’s name. */
    name: string;
    /** Identifier of the category the animal belongs to. */
    categoryId: number;
    status: PetStatus;
    /** The reason for the status, in the shelter’s words: in foster, medical, adopted. A new status clears it. */
    statusReason?: string;
    price?: Price;
    /** Your own identifier of the animal, unique within the account. */
    externalId?: string;
    breeds?: Breeds;
    colors?: Colors;
    /** The pattern of the coat: brindle, tabby. */
    pattern?: string;
    coat?: Coat;
    sex?: Sex;
    /** The date of birth. Not in the future. */
    birthDate?: string;
    /** Whether the date of birth is exact or estimated. */
    birthDatePrecision?: 'exact' | 'estimated';
    age?: Age;
    size?: Size;
    weight?: Weight;
    goodWith?: GoodWith;
    traits?: Traits;
    /** The energy level, from 1 (calm) to 5 (very active). */
    energy?: number;
    group?: ShownGroup;
    tags?: Tags;
    videos?: Videos;
    /** What the special needs are. */
    specialNeedsNotes?: string;
    microchips?: Microchips;
    /** The tattoo. Only the owner of the animal sees it. */
    tattoo?: string;
    /** Where in the shelter the animal is, such as a room and a kennel. Only the owner of the animal sees it. */
    shelterLocation?: string;
    intake?: Intake;
    outcome?: Outcome;
    extra?: Extra;
    /** What people should know about the animal, stored as sent: 1–10,000 characters, which may include line breaks. */
    description?: string;
    /** The photos of the animal, the main one first. */
    photos?: Photo[];
}
/** The changed fields; every field of a created or deleted resource. */
export type EventChanges = Record<string, {
    /** The previous value; absent if there was none. */
    from?: unknown;
    /** The new value; absent if there is none. */
    to?: unknown;
}>;
/** Why the event happened; absent for direct changes. */
export interface EventCause {
    /** The reason for an indirect change: `held`, `order_placed`, … */
    reason?: string;
    /** The hold that caused the change; it has the visibility of `accountId`. */
    holdId?: number;
    /** The order that caused the change; it has the visibility of `accountId`. */
    orderId?: number;
    /** The target of a category merge. */
    intoId?: number;
    /** The other key of a rotation: the previous one, or its successor. */
    keyId?: string;
    /** The account that received the animals of another one. */
    toAccountId?: number;
    /** The note of an order step. */
    note?: string;
}
/** A category after the change, or before its deletion. */
export interface CategoryEventData {
    /** Assigned by the service, or chosen by the animal that first named the category. */
    id: number;
    /** The category’s name. */
    name: string;
    /** A unique short name for URLs: lower-case letters and digits with single hyphens. */
    slug: string;
    /** The parent category; absent at the top level. The tree has at most ten levels. */
    parentId?: number;
    /** Up to 200 breeds that the category adds to the known breeds of its animals; the attributes of the category list all of them. */
    breeds?: string[];
    /** Up to 200 colors that the category adds to the known colors of its animals; the attributes of the category list all of them. */
    colors?: string[];
    /** Whether the category is a placeholder: an animal created it by naming its id, and nobody has given it a name yet. */
    placeholder: boolean;
}
/** An organization after the change, or before its deletion, without its hours and long texts. */
export interface OrganizationEventData {
    /** The id of its account, as in `accountId` of its animals. */
    id: number;
    /** The organization’s name. */
    name: string;
    address?: Address;
    location?: Location;
    /** The phone number that the organization publishes, up to 50 characters. */
    phone?: string;
    /** The e-mail address that the organization publishes. The e-mail address of its account is never shown. */
    email?: string;
    /** Its website, up to 500 characters. */
    website?: string;
}
/** A hold after the change. */
export interface HoldEventData {
    /** The id of the hold, assigned by the service. */
    id: number;
    /** When the hold ended. */
    endedAt?: string;
    /** The animals of the hold, sorted by id, including those that have been ordered. */
    petIds: number[];
    /** The account that placed the hold. */
    accountId: number;
    status: HoldStatus;
    /** A note, stored as sent: 1–1,000 characters, which may include line breaks. */
    note?: string;
    /** When the hold expires, or would have expired. */
    expiresAt: string;
}
/** An order after the change, without its steps. */
export interface OrderEventData {
    /** The id of the order, assigned by the service. */
    id: number;
    /** Whether the animal was delivered. */
    complete?: boolean;
    /** The animal that was ordered; in an order of several animals, the first. */
    petId: number;
    /** The animals that were ordered together, sorted by id; absent for an order of one animal. */
    petIds?: number[];
    /** The number of animals. */
    quantity: number;
    /** When the animal is due to leave the store. */
    shipDate?: string;
    status: OrderStatus;
    /** A note, stored as sent: 1–1,000 characters, which may include line breaks. */
    note?: string;
    price?: Price;
    /** The hold that the animal was ordered from. */
    holdId?: number;
    /** The account that placed the order. */
    accountId: number;
    /** When the order expires unless it is approved, or when it expired. Absent after any step. */
    expiresAt?: string;
}
/** A message after the change, without its text. */
export interface MessageEventData {
    /** Assigned by the service when the message is sent. */
    id: string;
    status: MessageStatus;
    /** When the message was sent. */
    createdAt: string;
    /** The account that sent the message; absent for the store itself, and for visitors of the page of an animal. */
    accountId?: number;
    /** The account that receives the message; absent for the store itself. */
    toAccountId?: number;
    /** The animal that the message is about. */
    petId?: number;
}
/** An account, without its e-mail address. */
export interface AccountEventData {
    /** The id of the account. */
    id: number;
    /** The name of the account. */
    name?: string;
    /** The plan of the account. */
    plan?: string;
    /** The numbers of requests that the account may send. */
    limits?: {
        perMinute: number;
        perDay: number;
    };
    /** Whether the account is an admin. */
    admin?: boolean;
    /** When it was created. */
    createdAt?: string;
    /** Since when the keys of the account are rejected; absent if they are accepted. */
    suspendedAt?: string;
    /** When the account will be deleted; absent if no deletion is scheduled. */
    deleteAt?: string;
    /** Whether every member needs a second factor; absent if not. */
    secondFactorRequired?: boolean;
    /** The deployment of a usage alert. */
    deployment?: string;
    /** The share of the day’s requests that a usage alert reports as used, in percent: 80 or 100. */
    threshold?: number;
    /** The person who joined or left, or whose role or second factor changed. */
    personId?: number;
    /** The role of a person who joined or left, or whose role changed: `owner`, `staff`, `developer` or `viewer`. */
    role?: string;
}
/** An API key, without its secret. */
export interface KeyEventData {
    /** The id of the key. */
    id: string;
    /** The account that the resource belongs to. */
    accountId?: number;
    /** The deployment of the key. */
    deployment?: string;
    /** When it was created. */
    createdAt?: string;
    /** The scopes of the key; `*` stands for all. */
    scopes?: string[];
    /** The networks from which the key is accepted; absent if every network is allowed. */
    networks?: string[];
    /** The key’s own limits, within the limits of its account; absent if the key has none. */
    budget?: {
        perMinute?: number;
        perDay?: number;
    };
    /** When the key expires; absent if it does not expire. */
    expiresAt?: string;
    /** When the key was revoked; absent if it was not revoked. */
    revokedAt?: string;
}
/** A ban of a key. */
export interface BanEventData {
    /** The id of the key. */
    id: string;
    /** The account that the resource belongs to. */
    accountId?: number;
    /** The deployment of the key. */
    deployment?: string;
    /** When the ban began. */
    bannedAt?: string;
    /** When the ban ends. */
    until?: string;
    /** When the ban was lifted; absent if it was not lifted. */
    liftedAt?: string;
}
/** A webhook after the change, or before its deletion. Its URL is shown without the query. */
export interface WebhookEventData {
    /** Assigned by the service. */
    id: number;
    /** The endpoint URL that receives the events: `https`, with a public address, and without user name, password and fragment. */
    url: string;
    /** Delivers only events of these types; `pet.*` stands for all types of one kind. Default: every type. */
    types?: (EventFilter | string)[];
    /** Delivers only events about these categories, the pets in them, and the holds and orders of such pets. */
    categoryIds?: number[];
    /** A note on the purpose of the webhook: 1–255 characters, at least one not white space, no control characters. */
    description?: string;
    status: WebhookStatus;
    /** Why the webhook is `disabled`: the receiver responded 410, every attempt failed for five days, the operator disabled it, its key was revoked or expired, its account was suspended or deleted, or the operator replaced its secret. */
    disabledReason?: 'gone' | 'failing' | 'operator' | 'key_revoked' | 'key_expired' | 'account_suspended' | 'account_deleted' | 'secret_replaced' | string;
    /** The account that owns the webhook. The webhook receives the events that this account can see. */
    accountId: number;
    /** The scopes of that key; `*` is every scope. The webhook receives only events that these scopes allow. */
    scopes: string[];
}
