import { type Html, html } from '../../lib/html/html.ts';
import { MCP_PATH } from '../../views/urls.ts';

/** Returns the configurations of AI agents for a new key. @param base the public URL of its deployment */
export function mcpSetup(base: string, token: string): Html {
  const url = base + MCP_PATH;
  const authorization = `Bearer ${token}`;
  // VS Code asks for the key, because its file is often part of a repository.
  const input = 'pet-store-key';
  const vsCode = {
    inputs: [{ type: 'promptString', id: input, description: 'API key of the pet store', password: true }],
    servers: { 'pet-store': { type: 'http', url, headers: { Authorization: `Bearer \${input:${input}}` } } },
  };
  const generic = { mcpServers: { 'pet-store': { type: 'http', url, headers: { Authorization: authorization } } } };
  return html`<details>
<summary>Use it with an AI agent</summary>
<p>Agents that speak MCP get tools for this deployment, as far as the scopes of the key reach. <a href="/guides/mcp">More about the tools</a>.</p>
<h3>Claude Code</h3>
<pre class="copy"><code>claude mcp add --transport http pet-store ${url} --header "Authorization: ${authorization}"</code></pre>
<h3>VS Code</h3>
<p>Save this as <code>.vscode/mcp.json</code>. VS Code asks for the key.</p>
<pre class="copy"><code>${JSON.stringify(vsCode, undefined, 2)}</code></pre>
<h3>Other agents</h3>
<p>Transport: Streamable HTTP. Most agents read a file like this one.</p>
<pre class="copy"><code>${JSON.stringify(generic, undefined, 2)}</code></pre>
</details>`;
}
