import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Histogram } from './histogram.ts';
import { metricsText } from './metrics.ts';

it('renders counters, gauges and histograms in the Prometheus text format', () => {
  const seconds = new Histogram([0.1, 1]);
  for (const value of [0.05, 0.1, 0.5, 3]) seconds.observe(value);
  const text = metricsText(
    [
      { name: 'requests_total', type: 'counter', help: 'Requests.', read: () => [[{ operation: 'a"b\\c\n' }, 2]] },
      { name: 'memory_bytes', type: 'gauge', help: 'Memory.', read: ({ bytes }) => bytes },
      { name: 'unknown_bytes', type: 'gauge', help: 'Left out.', read: () => undefined },
      { name: 'wait_seconds', type: 'histogram', help: 'Seconds.', read: () => [[{ kind: 'slow' }, seconds]] },
    ],
    { bytes: 7 },
  );
  assert.equal(
    text,
    `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{operation="a\\"b\\\\c\\n"} 2
# HELP memory_bytes Memory.
# TYPE memory_bytes gauge
memory_bytes 7
# HELP wait_seconds Seconds.
# TYPE wait_seconds histogram
wait_seconds_bucket{kind="slow",le="0.1"} 2
wait_seconds_bucket{kind="slow",le="1"} 3
wait_seconds_bucket{kind="slow",le="+Inf"} 4
wait_seconds_sum{kind="slow"} 3.65
wait_seconds_count{kind="slow"} 4
`,
  );
});
