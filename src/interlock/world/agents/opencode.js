// Tells Interlock what OpenCode does, in the words of Claude Code's hooks, and blocks what Interlock blocks.
// Only an answer blocks: where the hook cannot be run or takes too long, everything passes.
import { spawn } from "node:child_process"

const HOOK = "ralph-hook"
const MILLISECONDS = 10_000

function tell(event, words) {
  return new Promise((resolve) => {
    const pass = () => resolve({ code: 0, reason: "" })
    try {
      const child = spawn(HOOK, [event], {
        env: process.env, // Bun would pass the environment that OpenCode was started with, without its own names
        stdio: ["pipe", "ignore", "pipe"],
        timeout: MILLISECONDS,
        killSignal: "SIGKILL",
      })
      const said = []
      child.on("error", pass)
      child.stdin.on("error", () => {})
      child.stderr.on("data", (part) => said.push(part))
      child.on("close", (code) => resolve({ code, reason: Buffer.concat(said).toString().trim() }))
      child.stdin.end(JSON.stringify(words))
    } catch {
      pass()
    }
  })
}

export const Ralph = async ({ directory }) => {
  const call = (name, input, args) => ({
    hook_event_name: name,
    session_id: input.sessionID,
    cwd: directory,
    tool_name: input.tool,
    tool_input: args ?? {},
    tool_use_id: input.callID,
  })
  return {
    "tool.execute.before": async (input, output) => {
      const { code, reason } = await tell("pre-tool-use", call("PreToolUse", input, output.args))
      if (code === 2) throw new Error(reason)
    },
    "tool.execute.after": async (input, output) => {
      const exit = output?.metadata?.exit
      if (typeof exit === "number" && exit !== 0) {
        const error = `Exit code ${exit}\n${output.output}`
        await tell("post-tool-use-failure", { ...call("PostToolUseFailure", input, input.args), error })
        return
      }
      const response = exit === 0 ? { stdout: output.output, stderr: "" } : output
      await tell("post-tool-use", { ...call("PostToolUse", input, input.args), tool_response: response })
    },
    event: async ({ event }) => {
      const about = { session_id: event.properties?.sessionID ?? event.properties?.info?.id, cwd: directory }
      if (event.type === "session.created") {
        await tell("session-start", { hook_event_name: "SessionStart", ...about, source: "startup" })
      } else if (event.type === "session.idle") {
        await tell("stop", { hook_event_name: "Stop", ...about, stop_hook_active: true })
      }
    },
  }
}
