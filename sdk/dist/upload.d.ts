import type { RequestBody } from './transport.js';
/** A file to send: the path of a file (on Node.js), its content, or a stream. A function opens a new stream each time. */
export type FileSource = string | Blob | Uint8Array | ArrayBuffer | Stream | (() => Stream | Promise<Stream>);
type Stream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;
/** Returns the body of an upload. @param usualType the content type if neither the file nor its name has one */
export declare function fileBody(file: FileSource, usualType: string): RequestBody;
export {};
