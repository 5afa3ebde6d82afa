import type * as http from 'node:http';

/**
 * The values of `node:http`. An import statement would read all of its exports, also `WebSocket`: that loads code which
 * nothing here uses, 15 MB of memory.
 */
export const { Agent, createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http');
export type Agent = http.Agent;
