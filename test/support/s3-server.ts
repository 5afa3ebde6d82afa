import type { AddressInfo } from 'node:net';
import S3rver from '@20minutes/s3rver';
import type { BucketSettings } from '../../src/lib/bucket.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The secret of the only access key of {@link openS3Server}. */
const SECRET = 'S3RVER';

/** A server of S3-compatible storage in this process, with one empty bucket. */
export interface S3Server {
  readonly bucket: BucketSettings;
  /** The settings of a service that has its photos in the bucket. */
  readonly environment: Readonly<Record<string, string>>;
  /** Delays or answers each request, if it is set. Return a status to respond with it. */
  intercept: ((method: string, path: string) => Promise<number | undefined> | number | undefined) | undefined;
  /** The requests so far: method and path. */
  readonly requests: readonly string[];
  /** Closes it and every connection; with the same directory and port it can be opened again. */
  close(): Promise<void>;
  readonly directory: string;
  readonly port: number;
}

export async function openS3Server({ directory = temporaryDirectory(), port = 0 } = {}): Promise<S3Server> {
  const server = new S3rver({
    ...{ address: '127.0.0.1', port, directory, silent: true, vhostBuckets: false },
    configureBuckets: [{ name: 'photos', configs: [] }],
  });
  const requests: string[] = [];
  const opened: { intercept: S3Server['intercept'] } = { intercept: undefined };
  server.middleware.unshift(async (context, next) => {
    requests.push(`${context.method} ${context.url}`);
    const status = await opened.intercept?.(context.method, context.url);
    if (status === undefined) await next();
    else context.status = status;
  });
  const address: AddressInfo = await server.run();
  const url = `http://127.0.0.1:${address.port}/photos`;
  const bucket = { url, region: 'us-east-1', accessKeyId: 'S3RVER', secretAccessKey: SECRET };
  return Object.assign(opened, {
    ...{ bucket, requests, directory, port: address.port },
    environment: {
      PETSTORE_PHOTOS_S3_URL: url,
      PETSTORE_PHOTOS_S3_ACCESS_KEY_ID: bucket.accessKeyId,
      PETSTORE_PHOTOS_S3_SECRET_ACCESS_KEY: SECRET,
    },
    async close() {
      const closed = server.close();
      server.httpServer.closeAllConnections();
      await closed;
    },
  });
}
