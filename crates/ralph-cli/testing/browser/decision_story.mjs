// Approves checks and commands where their whole text is shown, and only that text.
import { createInterface } from "node:readline";
import { check, tell } from "./browser.mjs";

const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

await tell(async ({ page, base, errors }) => {
  await page.goto(`${base}/commands`);
  const commands = page.locator("#commands");
  await commands.locator("pre", { hasText: "bash: echo hello" }).waitFor();
  // A page that no longer follows the project shows an older text.
  await page.route("**/commands", (route) => (route.request().method() === "GET" ? route.abort() : route.continue()));
  console.log("read");
  await input.next();
  await commands.getByRole("button", { name: "Approve all of this" }).click();
  await page.locator("#messages", { hasText: "nothing was decided" }).waitFor();
  await page.unroute("**/commands");
  await page.goto(`${base}/commands`);
  await commands.locator("pre", { hasText: "bash: rm -r /" }).waitFor();
  await commands.getByRole("button", { name: "Approve all of this" }).click();
  await commands.locator("h2 .status.good", { hasText: "approved" }).waitFor();
  // A refused order and an aborted refresh are errors of the network for the browser.
  const others = errors.filter((error) => !error.includes("Failed to load resource"));
  check(others.length === 0, others.join("; "));
  errors.length = 0;
  await page.goto(`${base}/`);
  await page.locator("#inbox pre", { hasText: "touch canary" }).waitFor();
  await page.getByRole("button", { name: "Approve the checks" }).click();
  await page.locator("#inbox h2", { hasText: "nothing waits for you" }).waitFor();
});
process.exit(0);
