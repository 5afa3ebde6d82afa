/** The paths of the pages of a shelter, which their definitions and the links to them share. */
export const HOME_PATH = '/shelter';
export const ANIMALS_PATH = `${HOME_PATH}/animals`;
export const HOLDS_PATH = `${HOME_PATH}/holds`;
export const IMPORTS_PATH = `${HOME_PATH}/imports`;
export const MESSAGES_PATH = `${HOME_PATH}/messages`;
export const ORDERS_PATH = `${HOME_PATH}/orders`;
export const ORGANIZATION_PATH = `${HOME_PATH}/organization`;
