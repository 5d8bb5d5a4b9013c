// Starts a run of the demo agent from the page, watches it finish, and opens why the first claim was rejected.
import { check, tell } from "./browser.mjs";

await tell(async ({ page, base }) => {
  await page.goto(`${base}/start`);
  await page.fill("#prompt", "Make `sh test.sh` pass");
  await page.fill("#checks", "sh test.sh");
  await page.selectOption("#agent", "demo");
  await page.click("#start-run button.primary");
  await page.waitForURL(/\/runs\/[^/]+$/);
  // The page follows the run without a reload.
  await page.locator("#head .status", { hasText: "completed" }).waitFor();
  const mark = await page.evaluate(() => performance.getEntriesByType("navigation").length);
  check(mark === 1, "the page was loaded again");
  await page.locator("#zoom .cell", { hasText: "rejected" }).first().click();
  await page.waitForURL(/\/iterations\/1$/);
  const headline = await page.locator("#head .headline").textContent();
  check(headline.includes("the claim was rejected"), `the headline is ${headline}`);
  const checks = await page.locator("#checks").textContent();
  check(checks.includes("FAILED  Hello, World!"), `the output of the check is missing: ${checks}`);
  check((await page.locator("#prompt .author", { hasText: "task" }).count()) === 1, "the prompt has no task");
});
