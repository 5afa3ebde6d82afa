import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { STOP_MS } from '../../src/cli/commands/serve.ts';
import { readConfig } from '../../src/model/config.ts';
import { assertCommand, deployFiles, parseYaml, withoutYaml, yamlOf } from './files.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const paths = [...deployFiles.keys()].filter(path => path.startsWith('deploy/kubernetes/'));

describe('deploy/kubernetes', { skip: withoutYaml }, () => {
  const objects = withoutYaml ? [] : paths.flatMap(yamlOf);
  const one = (kind: string) => objects.find(object => object.kind === kind);
  const pod = one('Deployment')?.spec.template.spec;
  const [server] = pod?.containers ?? [];
  const config = one('ConfigMap')?.data as Record<string, string>;

  it('has settings that are valid together, in files of the mounted Secret if they are secret', () => {
    const isFile = ([name]: [string, string]) => name.endsWith('_FILE');
    const direct = Object.entries(config).filter(entry => !isFile(entry));
    const files = Object.entries(config).filter(isFile);
    const urls = { PETSTORE_DATABASE_URL: 'postgres://db/petstore', PETSTORE_VALKEY_URL: 'redis://valkey' };
    assert.doesNotThrow(() => readConfig({ ...Object.fromEntries(direct), ...urls }));
    assert.equal(files.length, 3);
    const { mountPath } = server.volumeMounts.find(({ name }: { name: string }) => name === 'secrets');
    for (const [, file] of files) assert.ok(file.startsWith(`${mountPath}/`));
    assert.equal(pod.enableServiceLinks, false);
  });

  it('mounts a volume of all nodes for scheduled backups, once the marks are removed', () => {
    const marked = deployFiles.get('deploy/kubernetes/petstore.yaml')!;
    const all = parseYaml(marked.replaceAll('#+ ', ''));
    const named = (kind: string) => all.find(object => object.kind === kind);
    assert.equal(all.length, parseYaml(marked).length + 1);
    const { containers, initContainers, volumes } = named('Deployment').spec.template.spec;
    const claim = named('PersistentVolumeClaim');
    assert.deepEqual(claim.spec.accessModes, ['ReadWriteMany']);
    const volume = volumes.find(({ name }: { name: string }) => name === 'backups');
    assert.equal(volume.persistentVolumeClaim.claimName, claim.metadata.name);
    const { backups } = readConfig({ PETSTORE_BACKUP_DIRECTORY: named('ConfigMap').data.PETSTORE_BACKUP_DIRECTORY });
    for (const { volumeMounts } of [...containers, ...initContainers]) {
      assert.ok(volumeMounts.some(({ mountPath }: { mountPath: string }) => mountPath === backups.directory));
    }
  });

  it('gives the server time to stop', () => {
    const { stopDelayMs } = readConfig({ PETSTORE_STOP_DELAY: config['PETSTORE_STOP_DELAY'] });
    assert.ok(stopDelayMs > 0);
    assert.ok(pod.terminationGracePeriodSeconds * 1000 >= stopDelayMs + STOP_MS + 10_000);
  });

  it('agrees on labels, ports and probes', () => {
    const labels = one('Deployment').spec.template.metadata.labels;
    assert.deepEqual(one('Deployment').spec.selector.matchLabels, labels);
    assert.deepEqual(one('PodDisruptionBudget').spec.selector.matchLabels, labels);
    assert.deepEqual(one('Service').spec.selector, labels);
    const { ports, metricsPort } = readConfig(
      Object.fromEntries(Object.entries(config).filter(([name]) => name === 'PETSTORE_METRICS_PORT')),
    );
    const expected = Object.entries({ ...ports, metrics: metricsPort });
    const actual = server.ports.map(({ name, containerPort }: Record<string, unknown>) => [name, containerPort]);
    assert.deepEqual(actual, expected);
    const served = one('Service').spec.ports as { name: string; port: number; targetPort: string }[];
    assert.deepEqual(Object.fromEntries(served.map(({ name, port }) => [name, port])), { ...ports });
    for (const { name, targetPort } of served) assert.equal(targetPort, name);
    for (const { http } of one('Ingress').spec.rules) {
      const { service } = http.paths[0].backend;
      assert.equal(service.name, one('Service').metadata.name);
      assert.ok(served.some(({ name }) => name === service.port.name));
    }
    const probes = [server.startupProbe, server.livenessProbe, server.readinessProbe].map(({ httpGet }) => httpGet);
    // Overload does not delay the port of metrics.
    const livez = { path: '/livez', port: 'metrics' };
    assert.deepEqual(probes, [livez, livez, { path: '/readyz', port: 'production' }]);
  });

  it('runs the commands of this version as a user without privileges, in a read-only image', async () => {
    const [, user] = /^USER (\d+):/m.exec(deployFiles.get('deploy/Dockerfile')!)!;
    assert.deepEqual([pod.securityContext.runAsNonRoot, pod.securityContext.runAsUser], [true, Number(user)]);
    for (const container of [...pod.initContainers, ...pod.containers]) {
      assert.equal(container.image, `petstore:${version}`);
      assert.deepEqual(container.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      assert.ok(container.resources.requests.memory && container.resources.limits.memory);
      if (container.args !== undefined) await assertCommand(container.args);
    }
  });
});
