// Written by `ralph install opencode` and removed by `ralph uninstall opencode`. Reports the events of a session to
// ralph and performs ralph's reply. It decides nothing; if ralph fails, the session just stays idle.
import { spawn } from "node:child_process"

const RALPH = "{{ralph}}"
/** The timeout of a call of ralph. */
const SECONDS = "{{seconds}}"
const COMMANDS = {
  ralph: ["start", "--json", "--seconds", `${SECONDS}`, "--arguments", "-"],
  "cancel-ralph": ["cancel", "--json"],
  "ralph-status": ["status"],
}

/** The plugin of a project is shared with users who do not have ralph: they see an error only if they use a command. */
const withStartError = (result, error) => {
  const isAbsent = RALPH === "ralph" && error?.code === "ENOENT"
  const err = isAbsent ? "ralph is not installed: it is not on the PATH" : `${result.err}${error}`
  return { ...result, isAbsent, err }
}

/** Runs ralph without a shell, writes its input, and returns its output and exit code. */
const runRalph = (args, input, cwd) =>
  new Promise((resolve) => {
    const result = { out: "", err: "", code: null }
    try {
      const child = spawn(RALPH, args, { cwd, stdio: ["pipe", "pipe", "pipe"] })
      const timer = setTimeout(() => child.kill(), SECONDS * 1000)
      const finish = (final) => {
        clearTimeout(timer)
        resolve(final)
      }
      child.stdout.setEncoding("utf8").on("data", (text) => (result.out += text))
      child.stderr.setEncoding("utf8").on("data", (text) => (result.err += text))
      child.on("error", (error) => finish(withStartError(result, error)))
      child.on("close", (code) => finish({ ...result, code }))
      child.stdin.on("error", () => {})
      child.stdin.end(input)
    } catch (error) {
      resolve(withStartError(result, error))
    }
  })

/** Returns the result of a command: text for the agent, and toasts. */
const parseCommandResult = (result) => {
  try {
    const { notices, first_prompt } = JSON.parse(result.out)
    const lines = notices.map(({ title, message }) => `${title}: ${message}`)
    return { text: [...lines, first_prompt ?? ""].join("\n\n").trim(), toasts: notices }
  } catch {
    const text = `${result.out}${result.err}`.trim() || "ralph could not be started"
    const variant = result.code === 0 ? "info" : "warning"
    return { text, toasts: [{ title: "Ralph", message: text.split("\n")[0], variant }], isRefused: result.code !== 0 }
  }
}

/** Returns the agent's last message of this turn, without reasoning, tools and injected text, and the last message id. */
const lastAgentMessage = async (client, id) => {
  const messages = (await client.session.messages({ path: { id } })).data ?? []
  const turn = messages.slice(messages.findLastIndex((message) => message.info.role === "user") + 1)
  const textParts = (message) => message.parts.filter((part) => part.type === "text" && !part.synthetic)
  const last = turn.findLast((message) => textParts(message).length > 0)
  const text = last && textParts(last).map((part) => part.text).join("")
  return { last_message: text, message_id: messages.at(-1)?.info.id }
}

/** Returns the event for ralph, or nothing if the event does not concern a loop. */
const toHookEvent = (event) => {
  const properties = event.properties ?? {}
  switch (event.type) {
    case "session.idle":
      return { event: "idle", session_id: properties.sessionID }
    case "session.error":
      return {
        event: "error",
        session_id: properties.sessionID,
        error: { name: properties.error?.name ?? "UnknownError" },
      }
    case "session.deleted":
      return { event: "deleted", session_id: properties.info?.id ?? properties.sessionID }
  }
}

export const RalphPlugin = async ({ client, directory }) => {
  const showToast = async (toast) => {
    if (toast) await client.tui.showToast({ body: toast }).catch(() => {})
  }
  const logWarning = (message) =>
    client.app.log({ body: { service: "ralph", level: "warn", message } }).catch(() => {})

  const reportEvent = async (hookEvent) => {
    const message = hookEvent.event === "idle" ? await lastAgentMessage(client, hookEvent.session_id) : {}
    const input = { ...hookEvent, ...message, cwd: directory }
    const result = await runRalph(["hook", "opencode", "--seconds", `${SECONDS}`], JSON.stringify(input), directory)
    if (result.isAbsent) return
    if (result.err) await logWarning(result.err)
    if (!result.out.trim()) return
    const reply = JSON.parse(result.out)
    await showToast(reply.toast)
    if (reply.action !== "continue") return
    const body = { parts: [{ type: "text", text: reply.prompt }] }
    await client.session.promptAsync({ path: { id: hookEvent.session_id }, body })
  }

  return {
    event: async ({ event }) => {
      const hookEvent = toHookEvent(event)
      if (!hookEvent?.session_id) return
      // Not awaited: the session must not block on ralph.
      reportEvent(hookEvent).catch((error) => logWarning(String(error)))
    },
    "command.execute.before": async (input, output) => {
      const args = COMMANDS[input.command]
      if (!args) return
      const [verb, ...options] = args
      const session = ["--session", input.sessionID, "--host", "opencode", "--from-plugin"]
      const result = await runRalph(["loop", verb, ...session, ...options], input.arguments ?? "", directory)
      const { text, toasts, isRefused } = parseCommandResult(result)
      // A refused command must not start any work.
      if (isRefused) output.parts.length = 0
      const advice = isRefused ? "\n\nTell the user what ralph says, in one sentence, and do nothing else." : ""
      output.parts.push({ type: "text", text: `Ralph says:\n${text}${advice}` })
      for (const toast of toasts) await showToast(toast)
    },
  }
}
