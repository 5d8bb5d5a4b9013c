// Comments on a line of the diff of a run that asks, continues it, and finds the comment in the next prompt.
import { check, tell } from "./browser.mjs";

await tell(async ({ page, base }) => {
  await page.goto(`${base}/runs/${process.env.RUN}/diff`);
  await page.locator('button[data-comment][data-file="work.txt"]').first().click();
  await page.fill("#comment-text", "Write it in capitals");
  await page.getByRole("button", { name: "Send to the agent" }).click();
  await page.locator("#messages", { hasText: "guidance for the next prompt" }).waitFor();
  await page.goto(`${base}/runs/${process.env.RUN}`);
  await page.getByRole("button", { name: "Resume" }).first().click();
  await page.locator("#head .status", { hasText: "completed" }).waitFor();
  await page.goto(`${base}/runs/${process.env.RUN}/iterations/2`);
  const words = await page.locator("#prompt .entry", { hasText: "Write it in capitals" }).textContent();
  check(words.includes("About work.txt:1"), `the prompt has no place: ${words}`);
  check(words.startsWith("you"), `the part is not marked as yours: ${words}`);
});
