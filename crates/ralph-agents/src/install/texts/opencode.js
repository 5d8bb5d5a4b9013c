// Written by `ralph install opencode`, and removed by `ralph uninstall opencode`. It tells ralph what happens in a
// session and does what ralph answers. It decides nothing, and a fault of ralph's only lets the session rest.
import { spawn } from "node:child_process"

const RALPH = "{{ralph}}"
/** How long ralph may take. */
const SECONDS = "{{seconds}}"
const COMMANDS = {
  ralph: ["start", "--json", "--arguments", "-"],
  "cancel-ralph": ["cancel", "--json"],
  "ralph-status": ["status"],
}

/** A project's plugin is everybody's, also of those who have no ralph: they hear of it only where they ask for it. */
const failed = (said, error) => {
  const isAbsent = RALPH === "ralph" && error?.code === "ENOENT"
  return { ...said, isAbsent, err: isAbsent ? "ralph is not installed here: it is not on the PATH" : `${said.err}${error}` }
}

/** Starts ralph without a shell, gives it its input, and returns what it said. */
const ask = (args, input, cwd) =>
  new Promise((resolve) => {
    const said = { out: "", err: "", code: null }
    try {
      const child = spawn(RALPH, args, { cwd, stdio: ["pipe", "pipe", "pipe"] })
      const timer = setTimeout(() => child.kill(), SECONDS * 1000)
      const end = (came) => {
        clearTimeout(timer)
        resolve(came)
      }
      child.stdout.setEncoding("utf8").on("data", (text) => (said.out += text))
      child.stderr.setEncoding("utf8").on("data", (text) => (said.err += text))
      child.on("error", (error) => end(failed(said, error)))
      child.on("close", (code) => end({ ...said, code }))
      child.stdin.on("error", () => {})
      child.stdin.end(input)
    } catch (error) {
      resolve(failed(said, error))
    }
  })

/** Returns what a command came to: words for the agent, and toasts. */
const cameTo = (said) => {
  try {
    const { notices, first_prompt } = JSON.parse(said.out)
    const told = notices.map(({ title, message }) => `${title}: ${message}`)
    return { words: [...told, first_prompt ?? ""].join("\n\n").trim(), toasts: notices }
  } catch {
    const words = `${said.out}${said.err}`.trim() || "nothing: it could not be started"
    const variant = said.code === 0 ? "info" : "warning"
    return { words, toasts: [{ title: "Ralph", message: words.split("\n")[0], variant }], isRefused: said.code !== 0 }
  }
}

/** Returns the agent's own last words of this turn (no thoughts, no tools, nothing that was put in), and what names it. */
const lastWords = async (client, id) => {
  const messages = (await client.session.messages({ path: { id } })).data ?? []
  const turn = messages.slice(messages.findLastIndex((message) => message.info.role === "user") + 1)
  const texts = (message) => message.parts.filter((part) => part.type === "text" && !part.synthetic)
  const last = turn.findLast((message) => texts(message).length > 0)
  const words = last && texts(last).map((part) => part.text).join("")
  return { last_message: words, message_id: messages.at(-1)?.info.id }
}

const happened = async (event) => {
  const facts = event.properties ?? {}
  switch (event.type) {
    case "session.idle":
      return { event: "idle", session_id: facts.sessionID }
    case "session.error":
      return { event: "error", session_id: facts.sessionID, error: { name: facts.error?.name ?? "UnknownError" } }
    case "session.deleted":
      return { event: "deleted", session_id: facts.info?.id ?? facts.sessionID }
  }
}

export const RalphPlugin = async ({ client, directory }) => {
  const show = async (toast) => {
    if (toast) await client.tui.showToast({ body: toast }).catch(() => {})
  }
  const note = (message) => client.app.log({ body: { service: "ralph", level: "warn", message } }).catch(() => {})

  const tell = async (news) => {
    const words = news.event === "idle" ? await lastWords(client, news.session_id) : {}
    const input = { ...news, ...words, cwd: directory }
    const said = await ask(["hook", "opencode", "--seconds", `${SECONDS}`], JSON.stringify(input), directory)
    if (said.isAbsent) return
    if (said.err) await note(said.err)
    if (!said.out.trim()) return
    const answer = JSON.parse(said.out)
    await show(answer.toast)
    if (answer.action !== "continue") return
    const body = { parts: [{ type: "text", text: answer.prompt }] }
    await client.session.promptAsync({ path: { id: news.session_id }, body })
  }

  return {
    event: async ({ event }) => {
      const news = await happened(event)
      if (!news?.session_id) return
      // Nobody waits for it: what the session does next must not hang on ralph.
      tell(news).catch((error) => note(String(error)))
    },
    "command.execute.before": async (input, output) => {
      const args = COMMANDS[input.command]
      if (!args) return
      const [verb, ...rest] = args
      const session = ["--session", input.sessionID, "--host", "opencode"]
      const said = await ask(["loop", verb, ...session, ...rest], input.arguments ?? "", directory)
      const { words, toasts, isRefused } = cameTo(said)
      // What the command asks of the agent is void then.
      if (isRefused) output.parts.length = 0
      const advice = isRefused ? "\n\nTell the user what ralph says, in one sentence, and do nothing else." : ""
      output.parts.push({ type: "text", text: `Ralph says:\n${words}${advice}` })
      for (const toast of toasts) await show(toast)
    },
  }
}
