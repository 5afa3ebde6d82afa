import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Metrics } from './metrics.ts';

it('renders counters, gauges and histograms in the Prometheus text format', () => {
  const metrics = new Metrics();
  const requests = metrics.counter('requests_total', 'Requests.');
  requests.add('a', () => ({ operation: 'a"b\\c' }));
  requests.add('a', () => assert.fail('labels are made once'));
  metrics.gauge('memory_bytes', 'Memory.', () => 7);
  const seconds = metrics.histogram('seconds', 'Seconds.', [0.1, 1]);
  for (const value of [0.05, 0.1, 0.5, 3]) seconds.observe(value);
  assert.equal(
    metrics.text(),
    `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{operation="a\\"b\\\\c"} 2
# HELP memory_bytes Memory.
# TYPE memory_bytes gauge
memory_bytes 7
# HELP seconds Seconds.
# TYPE seconds histogram
seconds_bucket{le="0.1"} 2
seconds_bucket{le="1"} 3
seconds_bucket{le="+Inf"} 4
seconds_sum 3.65
seconds_count 4
`,
  );
});
