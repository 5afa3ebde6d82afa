/** The part of the package that the tests use; it has no types. */
declare module '@20minutes/s3rver' {
  import type { Server } from 'node:http';
  import type { AddressInfo } from 'node:net';

  interface Context {
    readonly method: string;
    readonly url: string;
    status: number;
  }

  export default class S3rver {
    constructor(options: object);
    readonly httpServer: Server;
    readonly middleware: ((context: Context, next: () => Promise<void>) => Promise<void>)[];
    run(): Promise<AddressInfo>;
    close(): Promise<void>;
  }
}
