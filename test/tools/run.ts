// Other people's tools against the running service. They come from the npm registry, into the temporary directory.
import './redocly.ts';
import './generated-client.ts';
import './typed-client.ts';
import './orval.ts';
import './mcp.ts';
import './mcp-server.ts';
import './openapi-mcp-server.ts';
import './swagger-ui.ts';
import './prism.ts';
import './postman.ts';
import './prometheus.ts';
import './sdk-package.ts';
import './petfinder.ts';
