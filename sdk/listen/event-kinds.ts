// Generated from the routes by `npm run docs`. Do not edit.

/**
 * Each kind of events with its actions and, if `events:read` is not enough to see them, the scope that a key needs and
 * an operation that needs the same scope.
 */
export const eventKinds = `
pet created,updated,deleted
category created,updated,deleted,merged
organization created,updated,deleted
hold created,extended,released,used,expired orders:read /holds
order placed,approved,delivered,returned,cancelled,expired orders:read /holds
message queued,delivered,failed messages:read /messages
account created,updated,password_changed,second_factor_changed,member_joined,member_left,role_changed,usage_alert,suspended,resumed,transferred,deletion_requested,deleted account:read /account
key created,rotated,revoked,expired account:read /account
ban imposed,lifted account:read /account
webhook created,updated,activated,deactivated,disabled,deleted,secret_rotated,redelivery_requested webhooks:read /webhooks
`;
