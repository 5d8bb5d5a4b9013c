// Plays OpenCode for ralph's plugin: says what a session holds, tells of events and commands one after the other, and prints
// what the plugin did. Arguments: the plugin, and a file that grows by a line whenever a call of ralph has ended.
import { readFileSync } from "node:fs"

const [plugin, ended] = process.argv.slice(2)
const steps = JSON.parse(readFileSync(0, "utf8"))
const { RalphPlugin } = await import(plugin)

let messages = []
const done = { prompts: [], toasts: [], notes: [], parts: [] }
const client = {
  session: {
    messages: async () => ({ data: messages }),
    promptAsync: async ({ body }) => done.prompts.push(body.parts[0].text),
  },
  tui: { showToast: async ({ body }) => done.toasts.push(body) },
  app: { log: async ({ body }) => done.notes.push(body.message) },
}
const plays = await RalphPlugin({ client, directory: process.cwd() })

const lines = () => readFileSync(ended, { encoding: "utf8", flag: "a+" }).split("\n").length - 1
const until = async (condition) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}
for (const [index, step] of steps.entries()) {
  if (step.command) {
    const output = { parts: [{ type: "text", text: "what the command says" }] }
    await plays["command.execute.before"]({ command: step.command, arguments: step.arguments, sessionID: "s" }, output)
    done.parts.push(output.parts)
    continue
  }
  messages = step.messages
  await plays.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
  if (step.isUnheard) continue
  await until(() => lines() === index + 1 && done.prompts.length >= step.prompts)
}
// Also what nobody waited for is through by then.
process.once("beforeExit", () => process.stdout.write(`${JSON.stringify(done)}\n`))
