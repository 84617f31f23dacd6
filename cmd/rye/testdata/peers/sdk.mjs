// The official TypeScript SDK as a client of rye: what it did is printed, a line for each.
//
//	node sdk.mjs <node_modules> <v1|v2|v2-modern> <stdio|http|sse> <program or address> <token> <two texts of tools>
const [modules, sdk, by, target, token, texts] = process.argv.slice(2)
const old = sdk === 'v1'
const at = (path) => import(`${modules}/@modelcontextprotocol/${path}`)
const lib = old ? await at('sdk/dist/esm/client/index.js') : await at('client/dist/index.mjs')

async function transport() {
  const requestInit = { headers: { Authorization: `Bearer ${token}` } }
  if (by === 'stdio') {
    const { StdioClientTransport } = old ? await at('sdk/dist/esm/client/stdio.js') : await at('client/dist/stdio.mjs')
    return new StdioClientTransport({ command: target, args: ['mcp'], env: process.env, stderr: 'inherit' })
  }
  if (by === 'http') {
    const { StreamableHTTPClientTransport } = old ? await at('sdk/dist/esm/client/streamableHttp.js') : lib
    return new StreamableHTTPClientTransport(new URL(target), { requestInit })
  }
  const { SSEClientTransport } = old ? await at('sdk/dist/esm/client/sse.js') : lib
  return new SSEClientTransport(new URL(target), { requestInit })
}

let yes = true
let asked = ''
const options = { capabilities: { elicitation: {} } }
if (sdk === 'v2-modern') options.versionNegotiation = { mode: { pin: '2026-07-28' } }
const client = new lib.Client({ name: 'test', version: '1' }, options)
const answer = async (q) => {
  asked = q.params.message
  return { action: 'accept', content: { approve: yes } }
}
if (old) {
  const { ElicitRequestSchema } = await at('sdk/dist/esm/types.js')
  client.setRequestHandler(ElicitRequestSchema, answer)
} else client.setRequestHandler('elicitation/create', answer)

const call = (name, args, o) => old ? client.callTool({ name, arguments: args }, undefined, o) : client.callTool({ name, arguments: args }, o)
const text = (res) => res.content.map((c) => c.text ?? c.uri).join('\n')
const tool = (id, parameters) => ({ item_type: 'tool', item_id: id, ...(parameters && { parameters }) })
const has = (got, ...want) => {
  for (const w of want) if (!got.includes(w)) throw new Error(`no ${w} in ${got}`)
}

const [count, other] = JSON.parse(texts)
const steps = {
  initialize: async () => {
    await client.connect(await transport())
    has(client.getInstructions(), 'search', 'execute')
    return client.getServerVersion().name
  },
  tools: async () => has((await client.listTools()).tools.map((t) => t.name).sort().join(' '), 'execute load search sign'),
  search: async () => has(text(await call('search', { query: 'deploy' })), '"id":"acme/deploy"'),
  load: async () => has(text(await call('load', tool('acme/deploy'))), '"signer":"SHA256:', 'echo "deployed to'),
  execute: async () => has(text(await call('execute', tool('acme/deploy', { to: 'staging' }))), '"status":"success"', 'deployed to staging'),
  'sign (yes)': async () => {
    has(text(await call('sign', { ...tool('acme/count'), content: count })), '"status":"signed"')
    has(asked, 'acme/count')
    has(text(await call('execute', tool('acme/count', { what: '2' }))), 'counted 2')
  },
  'sign (no)': async () => {
    yes = false
    const res = await call('sign', { ...tool('acme/other'), content: other })
    has(text(res), '"approval":"declined"')
    has(asked, 'acme/other')
    if (!res.isError) throw new Error('no error')
  },
  resources: async () => {
    const all = (await client.listResources()).resources.map((r) => r.uri)
    const uri = 'rye://project/tool/acme/deploy'
    if (!all.includes(uri)) throw new Error(`${uri} is not listed`)
    has((await client.readResource({ uri })).contents[0].text, 'echo "deployed to')
    has((await client.listResourceTemplates()).resourceTemplates.map((r) => r.uriTemplate).join(' '), 'rye://{space}/{kind}/{+id}')
  },
  prompts: async () => {
    has((await client.listPrompts()).prompts.map((p) => p.name).join(' '), 'acme/greet')
    const got = await client.getPrompt({ name: 'acme/greet', arguments: { name: 'ada' } })
    has(got.messages[0].content.text, 'with the parameter name: ada')
  },
  completion: async () => {
    const ref = { type: 'ref/resource', uri: 'rye://{space}/{kind}/{+id}' }
    const got = await client.complete({ ref, argument: { name: 'id', value: 'acme/de' }, context: { arguments: { space: 'project', kind: 'tool' } } })
    has(got.completion.values.join(' '), 'acme/deploy')
  },
  cancellation: async () => {
    const stop = new AbortController()
    let begun = false
    const onprogress = (p) => { if (p.message?.includes('begun')) { begun = true; stop.abort() } }
    let ended = false
    try {
      await call('execute', tool('acme/slow'), { signal: stop.signal, onprogress })
      ended = true
    } catch {}
    if (ended || !begun) throw new Error(ended ? 'the call ended' : 'it never began')
    has(text(await call('search', { query: 'deploy' })), '"id":"acme/deploy"')
  },
}
for (const [name, step] of Object.entries(steps)) {
  try {
    await step()
    console.log(`did ${name}`)
  } catch (e) {
    console.log(`FAILED ${name}: ${e.stack}`)
    if (name === 'initialize') process.exit(1)
  }
}
await client.close()
